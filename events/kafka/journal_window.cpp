#include "events/kafka/journal_window.hpp"

namespace bc::events::kafka {

result<const envelope*> journal_window::find(std::uint64_t position) {
  // Positions come from Kafka, where anybody may have written them.
  if (position > head_) {
    BC_TRY(head, store_.head());
    head_ = head.position;
  }
  if (position == 0 || position > head_)
    return nullptr;
  const auto block = (position - 1) / block_size;
  const auto index = static_cast<std::size_t>((position - 1) % block_size);
  auto it = blocks_.find(block);
  // A block at the journal's end may have grown since.
  if (it == blocks_.end() || it->second.size() <= index) {
    BC_TRY(rows, store_.read_all(block * block_size, block_size));
    if (it == blocks_.end()) {
      age_.push_back(block);
      if (age_.size() > max_blocks) {
        blocks_.erase(age_.front());
        age_.pop_front();
      }
    }
    it = blocks_.insert_or_assign(block, std::move(rows)).first;
  }
  if (it->second.size() <= index)
    return nullptr;
  const auto& found = it->second[index];
  if (found.position != position)
    return fail(errc::internal,
                "the journal has no event " + std::to_string(position));
  return &found;
}

}  // namespace bc::events::kafka
