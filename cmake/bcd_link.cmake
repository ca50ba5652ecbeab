# bcd runs on machines that nobody prepared for it: glibc is the one shared
# library it may need. OpenSSL comes in from its static archives where they are
# (Debian's libssl-dev has them); every other program keeps the shared ones.
# bc_crypto and bc_ssl are OpenSSL as the program at the end of a chain of
# static libraries wants it: its property BC_LINK_STATIC says so.
find_library(BC_CRYPTO_ARCHIVE libcrypto.a)
find_library(BC_SSL_ARCHIVE libssl.a)
add_library(bc_crypto INTERFACE)
add_library(bc_ssl INTERFACE)
if(BC_CRYPTO_ARCHIVE AND BC_SSL_ARCHIVE AND NOT BC_SANITIZE)
  set(BC_STATIC_BCD ON)
  add_library(bc_crypto_archive STATIC IMPORTED)
  set_target_properties(bc_crypto_archive PROPERTIES
    IMPORTED_LOCATION ${BC_CRYPTO_ARCHIVE}
    INTERFACE_LINK_LIBRARIES "${CMAKE_DL_LIBS};Threads::Threads")
  add_library(bc_ssl_archive STATIC IMPORTED)
  set_target_properties(bc_ssl_archive PROPERTIES
    IMPORTED_LOCATION ${BC_SSL_ARCHIVE}
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
