# bcd runs on machines that nobody prepared for it: glibc is the one shared
# library it may need. OpenSSL comes in from its static archives where they are
# (Debian's libssl-dev has them); every other program keeps the shared ones.
# bc_crypto and bc_ssl are OpenSSL as the program at the end of a chain of
# static libraries wants it: its property BC_LINK_STATIC says so.
find_library(BC_CRYPTO_ARCHIVE libcrypto.a)
find_library(BC_SSL_ARCHIVE libssl.a)
add_library(bc_crypto INTERFACE)
add_library(bc_ssl INTERFACE)

# OpenSSL is C, and no exception passes through it: what would unwind its frames
# is half a megabyte of a release. `result`: the archive without it.
function(bc_without_unwinding archive result)
  get_filename_component(name ${archive} NAME)
  set(out ${CMAKE_BINARY_DIR}/openssl/${name})
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/openssl)
  execute_process(COMMAND ${CMAKE_OBJCOPY} --remove-section=.eh_frame
                          --remove-section=.rela.eh_frame ${archive} ${out}
                  COMMAND_ERROR_IS_FATAL ANY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${archive})
  set(${result} ${out} PARENT_SCOPE)
endfunction()

if(BC_CRYPTO_ARCHIVE AND BC_SSL_ARCHIVE AND NOT BC_SANITIZE)
  set(BC_STATIC_BCD ON)
  set(crypto_archive ${BC_CRYPTO_ARCHIVE})
  set(ssl_archive ${BC_SSL_ARCHIVE})
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    bc_without_unwinding(${BC_CRYPTO_ARCHIVE} crypto_archive)
    bc_without_unwinding(${BC_SSL_ARCHIVE} ssl_archive)
  endif()
  add_library(bc_crypto_archive STATIC IMPORTED)
  set_target_properties(bc_crypto_archive PROPERTIES
    IMPORTED_LOCATION ${crypto_archive}
    INTERFACE_LINK_LIBRARIES "${CMAKE_DL_LIBS};Threads::Threads")
  add_library(bc_ssl_archive STATIC IMPORTED)
  set_target_properties(bc_ssl_archive PROPERTIES
    IMPORTED_LOCATION ${ssl_archive}
    INTERFACE_LINK_LIBRARIES bc_crypto_archive)
  set(wants_static $<BOOL:$<TARGET_PROPERTY:BC_LINK_STATIC>>)
  target_link_libraries(bc_crypto INTERFACE
    $<IF:${wants_static},bc_crypto_archive,OpenSSL::Crypto>)
  target_link_libraries(bc_ssl INTERFACE
    $<IF:${wants_static},bc_ssl_archive,OpenSSL::SSL>)
else()
  set(BC_STATIC_BCD OFF)
  message(STATUS "bcd links OpenSSL's shared libraries")
  target_link_libraries(bc_crypto INTERFACE OpenSSL::Crypto)
  target_link_libraries(bc_ssl INTERFACE OpenSSL::SSL)
endif()

# A program that is one of the builds of bcd.
function(bc_link_bcd program)
  target_link_libraries(${program} PRIVATE bc_daemon)
  if(BC_STATIC_BCD)
    set_target_properties(${program} PROPERTIES BC_LINK_STATIC ON)
    target_link_options(${program} PRIVATE -static-libstdc++ -static-libgcc
                                           -Wl,--gc-sections)
  endif()
endfunction()
