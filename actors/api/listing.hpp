#pragma once

#include "actors/api/exchange.hpp"
#include "actors/api/records.hpp"

#include <string>
#include <utility>

/// What the methods that list share.
namespace bc::actors::api {

/// Answers with the text that `read(queries)` makes of the read models.
template <class Read>
void answer_from(exchange_ptr x, Read read) {
  x->streams->query(std::move(read), then(x, [x](std::string text) {
                      x->answer(std::move(text));
                    }));
}

/// Answers with the page of records that `rows(queries, paging)` finds.
template <class Rows>
void answer_page(exchange_ptr x, Rows rows) {
  auto page = read_paging(x->in());
  if (!page)
    return x->refuse(page.error());
  answer_from(x,
              [p = page.value(), rows = std::move(rows)](
                  projections::queries& q) -> result<std::string> {
                BC_TRY(found, rows(q, p));
                return page_text(found);
              });
}

}  // namespace bc::actors::api
