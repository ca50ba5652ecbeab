# bcd and what it stands on, with header-only libraries by their headers: what a
# cross build finds (ops/cross-bcd).
include(cmake/bcd_link.cmake)
foreach(name base pki daemon)
  file(GLOB sources CONFIGURE_DEPENDS ${name}/*.cpp ${name}/*/*.cpp)
  list(FILTER sources EXCLUDE REGEX
       "daemon/(main|fake_hardware|real_hardware)\\.cpp$")
  add_library(bc_${name} STATIC ${sources})
  target_include_directories(bc_${name} PUBLIC ${CMAKE_SOURCE_DIR})
  target_compile_options(bc_${name} PRIVATE $<$<CONFIG:Release>:-Os>)
endforeach()
target_link_libraries(bc_pki PUBLIC bc_base PRIVATE bc_crypto)
target_link_libraries(bc_daemon PUBLIC bc_pki bc_ssl Threads::Threads)
add_executable(bcd daemon/main.cpp daemon/real_hardware.cpp)
bc_link_bcd(bcd)
