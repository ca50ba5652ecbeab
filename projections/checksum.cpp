#include "base/encoding.hpp"
#include "pki/digest.hpp"
#include "projections/projector.hpp"
#include "projections/tables.hpp"

namespace bc::projections {

namespace {

// Each row as one text: "select quote(a)||','||quote(b) from t order by key".
std::string row_texts(const table& t) {
  std::string out = "select quote(";
  for (char c : t.columns)
    if (c == ',')
      out += ")||','||quote(";
    else
      out += c;
  return out.append(") from ")
      .append(t.name)
      .append(" order by ")
      .append(t.key);
}

const std::array<std::string, tables.size()>& queries() {
  static const auto texts = [] {
    std::array<std::string, tables.size()> out;
    for (std::size_t i = 0; i < tables.size(); ++i)
      out[i] = row_texts(tables[i]);
    return out;
  }();
  return texts;
}

}  // namespace

result<std::string> checksum(sqlite::connection& db) {
  pki::field_hash hash;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    hash.add(tables[i].name);
    BC_TRY(rows, db.prepare(queries()[i]));
    for (;;) {
      BC_TRY(more, rows.step());
      if (!more)
        break;
      hash.add(rows.text(0));
    }
  }
  return to_hex(std::move(hash).finish());
}

}  // namespace bc::projections
