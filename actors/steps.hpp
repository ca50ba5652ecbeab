#pragma once

#include "actors/ledger.hpp"
#include "base/result.hpp"

#include <memory>
#include <utility>

namespace bc::actors {

/// One who asks the ledger one thing after the other: each answer goes to a
/// member function, and a fault to `Self::on_fault(fault)`, in place of it.
/// Lives as long as an answer is awaited.
template <class Self>
class steps : public std::enable_shared_from_this<Self> {
 protected:
  template <class T>
  [[nodiscard]] reply_to<T> then(void (Self::*next)(T)) {
    return [self = this->shared_from_this(), next](result<T> got) {
      if (!got)
        return self->on_fault(std::move(got).error());
      (self.get()->*next)(std::move(got).value());
    };
  }
};

}  // namespace bc::actors
