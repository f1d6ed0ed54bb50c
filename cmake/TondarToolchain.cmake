# Flags that hold for every file. The build is portable: x86-64-v2 (or armv8-a) is the floor, faster instruction
# sets live in kernel files with flags of their own and are chosen at run time (docs/adr/0001).

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  add_compile_options(-march=x86-64-v2 -mtune=generic)
  set(TONDAR_X86 ON)
endif()

add_compile_options(-Wall -Wextra -Wno-psabi -fno-strict-aliasing -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  add_compile_options(-Wno-restrict)  # false alarms in std::string of GCC 12 (GCC bug 105651)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_compile_options(-Wthread-safety -Werror=thread-safety)
endif()

if(TONDAR_SANITIZE)
  add_compile_options(-fsanitize=${TONDAR_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${TONDAR_SANITIZE})
endif()
