#pragma once

#include "base/result.hpp"
#include "events/kafka/publisher.hpp"
#include "ops/serve/config.hpp"

namespace bc::serve {

/// What [kafka] says, for the publisher and for the commands that look at what
/// it did; `brokers` must be set.
[[nodiscard]] result<events::kafka::publisher_options> publisher_of(
    const serve_config& c);

}  // namespace bc::serve
