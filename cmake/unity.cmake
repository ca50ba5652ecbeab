# One translation unit for several sources (`BC_UNITY`): most of a compile is
# the headers that they share. Which may come together: unity_groups.py.
option(BC_UNITY "Compile sources in groups: a whole build in a third of the time" OFF)

if(BC_UNITY)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
endif()

function(bc_unity target)
  if(NOT BC_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  # A name that is new in one of them may part a group.
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
               ${CMAKE_SOURCE_DIR}/cmake/unity_groups.py)
  set(paths "")
  foreach(source ${sources})
    get_filename_component(path ${source} ABSOLUTE)
    # A source of two programs keeps the group it has.
    get_source_file_property(grouped ${path} UNITY_GROUP)
    if(NOT grouped AND path MATCHES "\\.cpp$")
      string(APPEND paths "${path}\n")
    endif()
  endforeach()
  set(list ${CMAKE_CURRENT_BINARY_DIR}/${target}.sources)
  file(WRITE ${list} "${paths}")
  execute_process(
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/cmake/unity_groups.py 16
    INPUT_FILE ${list} OUTPUT_VARIABLE groups COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^\n]+" groups "${groups}")
  foreach(line ${groups})
    string(REGEX MATCH "^([0-9]+) (.*)$" _ "${line}")
    set_source_files_properties(${CMAKE_MATCH_2} PROPERTIES
                                UNITY_GROUP ${target}_${CMAKE_MATCH_1})
  endforeach()
  # Said of an unnamed namespace in a file that is included, as here all are.
  target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON
                                             UNITY_BUILD_MODE GROUP)
endfunction()
