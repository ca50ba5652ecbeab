# The contracts of schema/ as C++ data, so that a program carries them.
#
# Every file under schema/api, schema/asyncapi, schema/events, schema/sql and
# schema/postgres becomes one row of bc::schema::files() (generated/schema/embedded.hpp).
function(bc_embed_schemas)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/schema
       ${CMAKE_SOURCE_DIR}/schema/api/*.json
       ${CMAKE_SOURCE_DIR}/schema/asyncapi/*.json
       ${CMAKE_SOURCE_DIR}/schema/events/*.json
       ${CMAKE_SOURCE_DIR}/schema/sql/*.sql
       ${CMAKE_SOURCE_DIR}/schema/postgres/*.sql)
  list(SORT files)
  set(rows "")
  foreach(name ${files})
    file(READ ${CMAKE_SOURCE_DIR}/schema/${name} text)
    string(APPEND rows "    {\"${name}\", R\"bcschema(${text})bcschema\"},\n")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
                 ${CMAKE_SOURCE_DIR}/schema/${name})
  endforeach()
  set(content "#pragma once

#include <string_view>

namespace bc::schema {

struct file {
  std::string_view name;
  std::string_view text;
};

inline constexpr file files[] = {
${rows}    {\"\", \"\"},
};

/// The text of one file under schema/ (\"api/joinTokens.create.json\"), or
/// empty when there is none.
[[nodiscard]] constexpr std::string_view text_of(std::string_view name) {
  for (const auto& f : files)
    if (!f.name.empty() && f.name == name)
      return f.text;
  return {};
}

}  // namespace bc::schema
")
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/schema/embedded.hpp
       CONTENT "${content}" @ONLY)
endfunction()

# What `better-compute daemon install-script` is made of (generated/install/
# embedded.hpp): the template, and the units that it writes.
function(bc_embed_install)
  set(constants "")
  foreach(pair "script|ops/install/install-bcd.sh" "unit|ops/systemd/bcd.service"
               "helper_unit|ops/systemd/bcd-helper.service")
    string(REPLACE "|" ";" pair ${pair})
    list(GET pair 0 name)
    list(GET pair 1 file)
    file(READ ${CMAKE_SOURCE_DIR}/${file} text)
    string(APPEND constants "
/// ${file}
inline constexpr std::string_view ${name} = R\"bcinstall(${text})bcinstall\";
")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
                 ${CMAKE_SOURCE_DIR}/${file})
  endforeach()
  set(content "#pragma once

#include <string_view>

namespace bc::install {
${constants}
}  // namespace bc::install
")
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/install/embedded.hpp
       CONTENT "${content}" @ONLY)
endfunction()
