# bcd for arm64, built on another machine (ops/cross-bcd). BC_ARM64_ROOT holds
# what Debian's cross compiler does not bring: OpenSSL's headers and archives
# for arm64, and links to the header-only libraries of this machine.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES BC_ARM64_ROOT)
set(CMAKE_FIND_ROOT_PATH ${BC_ARM64_ROOT} /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
include_directories(SYSTEM ${BC_ARM64_ROOT}/usr/include
                    ${BC_ARM64_ROOT}/usr/include/aarch64-linux-gnu)
