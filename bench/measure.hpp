#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

/// How figures are taken and shown. Each figure stands beside its baseline of
/// the same run; a lone time says more about the machine than about us.
namespace bc::bench {

using steady = std::chrono::steady_clock;

/// User and system time of this process.
[[nodiscard]] double cpu_seconds();

/// Latencies in log-linear buckets (as HdrHistogram): 1 us to an hour, within
/// 1.6 % of the value. Not thread-safe.
class histogram {
 public:
  histogram();
  void add(steady::duration latency);
  void add(const histogram& other);
  [[nodiscard]] std::uint64_t count() const { return count_; }
  /// The latency that so many percent stay within, in microseconds.
  [[nodiscard]] double percentile(double percent) const;

 private:
  std::vector<std::uint64_t> buckets_;
  std::uint64_t count_ = 0;
};

/// One operation: starts it, and says so when it has ended (true: as it
/// should).
using operation =
    std::function<void(std::size_t index, std::function<void(bool)> done)>;

/// One that is over when it returns; true: as it should.
using blocking_operation =
    std::function<bool(std::size_t thread, std::size_t index)>;

struct load {
  std::size_t done = 0;    // as they should
  std::size_t failed = 0;  // otherwise
  double seconds = 0;      // wall
  double cpu = 0;          // of this process
  histogram latency;

  [[nodiscard]] double rate() const {
    return static_cast<double>(done) / seconds;
  }
};

/// Keeps `in_flight` operations going until `total` are done: how much passes.
[[nodiscard]] load closed_loop(std::size_t total, std::size_t in_flight,
                               const operation& run);

/// Of the rate that a closed loop has just shown to pass, what latencies are
/// taken at: busy, and not yet a queue.
inline constexpr double open_load = 0.6;

/// Starts `total` operations at a fixed rate, whatever the earlier ones do;
/// latency counts from when each was meant to start.
[[nodiscard]] load open_loop(std::size_t total, double rate,
                             const operation& run);

/// closed_loop for an operation that blocks, on threads of its own.
[[nodiscard]] load blocking_loop(std::size_t total, std::size_t threads,
                                 const blocking_operation& run);

/// open_loop for one: what has no thread in time waits, and its latency says
/// so.
[[nodiscard]] load paced_loop(std::size_t total, double rate,
                              std::size_t threads,
                              const blocking_operation& run);

struct figure {
  std::string section;
  std::string name;
  double value = 0;
  std::string unit;
  double baseline = 0;  // 0: it is a baseline itself
  std::string against;
  std::string note;
};

/// Prints each figure as it comes, and keeps them for the JSON file.
class report {
 public:
  void section(const std::string& title);
  void add(std::string name, double value, std::string unit,
           std::string note = {});
  void add_ratio(std::string name, double value, std::string unit,
                 double baseline, std::string against, std::string note = {});
  void add_latency(const std::string& name, const load& l);
  [[nodiscard]] bool write_json(const std::string& path) const;

 private:
  void show(figure f);
  std::string section_;
  std::vector<figure> figures_;
};

}  // namespace bc::bench
