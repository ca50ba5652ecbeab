#include "gateway/openapi_paths.hpp"

#include "base/errc.hpp"
#include "events/catalog.hpp"
#include "gateway/routes.hpp"

#include <initializer_list>

namespace bc::gateway {

namespace {

constexpr std::string_view json_type = "application/json";
constexpr std::string_view request_id_header = "x-request-id";

/// An error that more than one path may answer.
struct shared_error {
  std::string_view status;
  errc code;
  std::string_view description;
};
constexpr shared_error shared_errors[] = {
    {"400", errc::invalid_input,
     "It is not what this path takes; `details` names the field."},
    {"401", errc::unauthenticated, "No valid credential was presented."},
    {"403", errc::access_denied, "The credential is not granted this."},
    {"404", errc::not_found,
     "There is no such thing, or it is another tenant's."},
    {"413", errc::invalid_input, "The body is over 256 KiB."},
    {"429", errc::rate_limited,
     "The credential, or the server, has as many streams open as it may."},
    {"431", errc::invalid_input, "The header is too large."},
    {"500", errc::internal, "The service failed; its log has the request id."},
    {"503", errc::unavailable, "It cannot be done now; retry."},
};

/// A path read by GET. `schema` empty: a text.
struct get_path {
  std::string path;
  std::string_view id;
  std::string_view summary;
  std::string_view type;
  std::string_view schema;
};

void begin_get(json::writer& out, const get_path& p) {
  out.key(p.path).begin_object().key("get").begin_object();
  out.field("operationId", p.id);
  out.key("tags").begin_array().text(documents_tag).end_array();
  out.field("summary", p.summary);
}

void put_open(json::writer& out) {
  out.key("security").begin_array().end_array();
}

void put_answer(json::writer& out, std::string_view status,
                std::string_view description, std::string_view type,
                std::string_view schema) {
  out.key(status).begin_object().field("description", description);
  put_headers(out);
  out.key("content").begin_object().key(type).begin_object();
  out.key("schema");
  if (schema.empty())
    out.begin_object().field("type", "string").end_object();
  else
    put_ref(out, "schemas", schema);
  out.end_object().end_object().end_object();
}

void put_answers(json::writer& out, const get_path& p,
                 std::initializer_list<std::string_view> errors) {
  out.key("responses").begin_object();
  put_answer(out, "200", p.summary, p.type, p.schema);
  for (auto status : errors)
    put_error(out, status);
}

void end_get(json::writer& out) {
  out.end_object().end_object().end_object();
}

void put_document(json::writer& out, const get_path& p,
                  std::initializer_list<std::string_view> errors = {"400",
                                                                    "431"}) {
  begin_get(out, p);
  put_open(out);
  put_answers(out, p, errors);
  end_get(out);
}

void put_parameter(json::writer& out, std::string_view place,
                   std::string_view name, std::string_view description) {
  out.begin_object().field("name", name).field("in", place);
  out.field("description", description);
  out.key("schema").begin_object().field("type", "string").end_object();
  out.end_object();
}

void put_stream(json::writer& out) {
  get_path p{std::string{base_path} + "/events/stream", "events.stream",
             "The tenant's events as server-sent events: the stored ones, then "
             "each as it is committed. asyncapi.json describes them.",
             "text/event-stream", ""};
  begin_get(out, p);
  out.key("x-grant").begin_object();
  out.field("action", "compute:events:read");
  out.field("resource", "compute-tenant/{tenantId}").end_object();
  out.key("parameters").begin_array();
  put_parameter(out, "query", "type", "Events of this type alone.");
  put_parameter(out, "query", "cursor",
                "An event's id: those after it; \"head\": those to come.");
  put_parameter(out, "query", "tenantId",
                "The caller's own, which is meant without it.");
  put_parameter(out, "header", "last-event-id", "Wins over `cursor`.");
  out.end_array();
  put_answers(out, p, {"400", "401", "403", "404", "429", "431", "500", "503"});
  end_get(out);
}

void put_event_schema(json::writer& out) {
  get_path p{std::string{base_path} + "/schemas/events/{type}.json",
             "schemas.event",
             "The JSON Schema of a public event's data; its $id is what the "
             "event's `dataschema` says.",
             json_type, "json-schema"};
  begin_get(out, p);
  put_open(out);
  out.key("parameters").begin_array().begin_object();
  out.field("name", "type").field("in", "path").field("required", true);
  out.key("schema").begin_object().field("type", "string");
  out.key("enum").begin_array();
  for (const auto& t : events::event_types())
    if (t.is_public)
      out.text(t.name);
  out.end_array().end_object().end_object().end_array();
  put_answers(out, p, {"400", "404", "431"});
  end_get(out);
}

void put_program(json::writer& out) {
  get_path p{std::string{base_path} + "/downloads/bcd/{version}/linux-{arch}",
             "downloads.bcd",
             "The daemon's program, as machines are installed with it.",
             "application/octet-stream", ""};
  begin_get(out, p);
  put_open(out);
  out.key("parameters").begin_array();
  for (std::string_view name : {"version", "arch"}) {
    out.begin_object().field("name", name).field("in", "path");
    out.field("required", true);
    out.key("schema").begin_object().field("type", "string");
    if (name == "arch")
      out.field("enum", std::vector<std::string>{"amd64", "arm64"});
    out.end_object().end_object();
  }
  out.end_array();
  put_answers(out, p, {"400", "404", "431", "503"});
  end_get(out);
}

void put_revoked(json::writer& out, std::string_view end, std::string_view name,
                 std::string_view summary) {
  get_path p{std::string{base_path} + "/pki/crl" + std::string{end}, name,
             summary, "application/pkix-crl", ""};
  begin_get(out, p);
  put_open(out);
  out.key("parameters").begin_array();
  if (!end.empty()) {
    out.begin_object().field("name", "authority").field("in", "path");
    out.field("required", true);
    out.key("schema").begin_object().field("type", "string");
    out.field("pattern", "^[0-9a-f]{40}$").end_object().end_object();
  }
  put_parameter(out, "header", "if-none-match",
                "An answer's ETag: 304 while there is no other list.");
  out.end_array();
  put_answers(out, p, {"400", "404", "431", "503"});
  out.key("304").begin_object();
  out.field("description", "There is no other list.");
  put_headers(out);
  out.end_object();
  end_get(out);
}

void put_readiness(json::writer& out) {
  get_path p{"/readyz", "readyz", "Whether this server takes requests.",
             json_type, "readiness"};
  begin_get(out, p);
  put_open(out);
  put_answers(out, p, {"400", "431"});
  put_answer(out, "503", "Not now; the body says why.", json_type, "readiness");
  end_get(out);
}

}  // namespace

void put_ref(json::writer& out, std::string_view kind, std::string_view name) {
  out.begin_object();
  out.field("$ref",
            "#/components/" + std::string{kind} + "/" + std::string{name});
  out.end_object();
}

void put_headers(json::writer& out) {
  out.key("headers").begin_object().key(request_id_header);
  put_ref(out, "headers", "request-id");
  out.end_object();
}

void put_error(json::writer& out, std::string_view status) {
  out.key(status);
  put_ref(out, "responses", "error." + std::string{status});
}

void put_error_schema(json::writer& out,
                      const std::vector<std::string>& codes) {
  out.begin_object().key("allOf").begin_array();
  put_ref(out, "schemas", "error");
  out.begin_object().key("properties").begin_object();
  out.key("error").begin_object().key("properties").begin_object();
  out.key("code").begin_object().field("enum", codes).end_object();
  out.end_object().end_object().end_object().end_object();
  out.end_array().end_object();
}

void put_get_paths(json::writer& out) {
  const std::string base{base_path};
  put_stream(out);
  put_document(
      out, {base + "/.well-known/better-compute", "well-known",
            "What a machine needs to know to join.", json_type, "well-known"});
  put_document(out, {base + "/openapi.json", "openapi", "This document.",
                     json_type, "openapi"});
  put_document(
      out, {base + "/asyncapi.json", "asyncapi",
            "The events, as an AsyncAPI 3.0 document.", json_type, "asyncapi"});
  put_event_schema(out);
  put_program(out);
  put_revoked(
      out, "", "pki.crl",
      "The certificate revocation list of the node CA (RFC 5280): every "
      "revoked certificate that has not ended, in DER. Made anew "
      "with each revocation, and twice a day.");
  put_revoked(out, "/{authority}", "pki.crlOf",
              "The same of one node CA by its key id, also of the one before "
              "while the key rotates.");
  put_document(out, {"/healthz", "healthz", "This server answers.", json_type,
                     "readiness"});
  put_readiness(out);
  put_document(out,
               {"/metrics", "metrics",
                "Numbers in Prometheus' text format; served on loopback alone.",
                "text/plain", ""},
               {"400", "404", "431"});
}

void put_shared_parts(json::writer& out) {
  out.key("parameters").begin_object().key("min-position").begin_object();
  out.field("name", "x-min-position").field("in", "header");
  out.field("description",
            "The answer shows the journal up to this position, or is "
            "UNAVAILABLE; one beyond the journal's head is INVALID_INPUT. A "
            "caller's own changes need no header on the server that made "
            "them.");
  out.key("schema").begin_object().field("type", "integer");
  out.field("minimum", 0).end_object();
  out.end_object().end_object();
  out.key("headers").begin_object().key("request-id").begin_object();
  out.field("description",
            "The server's id of this request, in its log and in the events it "
            "caused (`correlationid`).");
  out.key("schema").begin_object().field("type", "string").end_object();
  out.end_object().end_object();
  out.key("responses").begin_object();
  for (const auto& e : shared_errors) {
    std::string code{wire_text(e.code)};
    out.key("error." + std::string{e.status}).begin_object();
    out.field("description", code + ": " + std::string{e.description});
    put_headers(out);
    out.key("content").begin_object().key(json_type).begin_object();
    out.key("schema");
    put_error_schema(out, {code});
    out.end_object().end_object().end_object();
  }
  out.end_object();
}

}  // namespace bc::gateway
