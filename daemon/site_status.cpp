#include "daemon/site_status.hpp"

#include "base/json.hpp"

namespace bc::daemon {

namespace {

const std::string file_name = "site.json";

result<time_point> time(const json::reader& from, std::string_view name) {
  BC_TRY(text, from.text(name));
  return from_rfc3339(text);
}

}  // namespace

std::string encode(const site_status& s) {
  json::writer out;
  out.begin_object()
      .field("nodeId", s.node_id)
      .field("asked", s.lease.asked)
      .field("held", s.lease.held)
      .field("epoch", s.lease.epoch)
      .field("holder", s.lease.holder)
      .field("expiresAt", to_rfc3339(s.lease.expires_at))
      .field("trouble", s.lease.trouble)
      .field("writtenAt", to_rfc3339(s.written_at))
      .end_object();
  return out.str() + "\n";
}

result<site_status> decode_site_status(std::string_view text) {
  BC_TRY(doc, json::parse_object(text));
  json::reader from{doc};
  site_status out;
  BC_TRY(node, from.text("nodeId"));
  BC_TRY(asked, from.boolean("asked"));
  BC_TRY(held, from.boolean("held"));
  BC_TRY(epoch, from.integer("epoch"));
  BC_TRY(holder, from.text("holder"));
  BC_TRY(expires, time(from, "expiresAt"));
  BC_TRY(trouble, from.text("trouble"));
  BC_TRY(written, time(from, "writtenAt"));
  out.node_id = node;
  out.lease = {asked, held, epoch, holder, expires, trouble};
  out.written_at = written;
  return out;
}

result<void> write_site_status(const private_dir& folder,
                               const site_status& s) {
  return folder.write(file_name, as_bytes(encode(s)));
}

std::optional<site_status> read_site_status(
    const std::filesystem::path& data_dir) {
  auto folder = private_dir::look(data_dir);
  if (!folder)
    return std::nullopt;
  auto text = folder.value().read(file_name);
  if (!text || !text.value())
    return std::nullopt;
  auto read = decode_site_status(text.value()->expose_text());
  return read ? std::optional{read.value()} : std::nullopt;
}

}  // namespace bc::daemon
