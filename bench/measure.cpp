#include "bench/measure.hpp"

#include "base/json.hpp"

#include <atomic>
#include <bit>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <fstream>
#include <memory>
#include <mutex>
#include <sys/resource.h>
#include <thread>

namespace bc::bench {

namespace {

constexpr unsigned sub_bits = 6;  // 64 buckets for each power of two
constexpr unsigned powers = 32;

std::size_t bucket_of(std::uint64_t us) {
  if (us < (1u << sub_bits))
    return us;
  auto power = static_cast<unsigned>(std::bit_width(us)) - 1 - sub_bits;
  auto sub = us >> power;  // 64 … 127
  return std::size_t{power} * (1u << sub_bits) + sub;
}

double value_of(std::size_t bucket) {
  if (bucket < (2u << sub_bits))
    return static_cast<double>(bucket);
  auto power = bucket / (1u << sub_bits) - 1;
  auto sub = bucket - power * (1u << sub_bits);
  return std::ldexp(static_cast<double>(sub) + 0.5, static_cast<int>(power));
}

double seconds_between(steady::time_point a, steady::time_point b) {
  return std::chrono::duration<double>(b - a).count();
}

// What the callbacks of one loop share; the last of them may outlive it.
struct tally {
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t open = 0;
  load result;

  void end(steady::time_point start, bool good) {
    std::lock_guard lock{mutex};
    result.latency.add(steady::now() - start);
    ++(good ? result.done : result.failed);
    --open;
    changed.notify_all();
  }
};

// Until operation `i` of so many a second is meant to start.
steady::time_point wait_for_turn(std::size_t i, double rate,
                                 steady::time_point began) {
  auto start =
      began + std::chrono::duration_cast<steady::duration>(
                  std::chrono::duration<double>(static_cast<double>(i) / rate));
  std::this_thread::sleep_until(start);
  return start;
}

template <class Wait>
load thread_loop(std::size_t total, std::size_t threads,
                 const blocking_operation& run, Wait wait) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  load sum;
  auto began = steady::now();
  auto cpu = cpu_seconds();
  std::vector<std::jthread> workers;
  for (std::size_t t = 0; t < threads; ++t)
    workers.emplace_back([&, t] {
      load own;
      for (;;) {
        auto i = next.fetch_add(1);
        if (i >= total)
          break;
        auto start = wait(i, began);
        ++(run(t, i) ? own.done : own.failed);
        own.latency.add(steady::now() - start);
      }
      std::lock_guard lock{mutex};
      sum.done += own.done;
      sum.failed += own.failed;
      sum.latency.add(own.latency);
    });
  workers.clear();
  sum.seconds = seconds_between(began, steady::now());
  sum.cpu = cpu_seconds() - cpu;
  return sum;
}

template <class Wait>
load run_loop(std::size_t total, const operation& run, Wait wait) {
  auto all = std::make_shared<tally>();
  auto began = steady::now();
  auto cpu = cpu_seconds();
  for (std::size_t i = 0; i < total; ++i) {
    auto start = wait(*all, i, began);
    {
      std::lock_guard lock{all->mutex};
      ++all->open;
    }
    run(i, [all, start](bool good) { all->end(start, good); });
  }
  std::unique_lock lock{all->mutex};
  all->changed.wait(lock, [&] { return all->open == 0; });
  all->result.seconds = seconds_between(began, steady::now());
  all->result.cpu = cpu_seconds() - cpu;
  return all->result;
}

}  // namespace

double cpu_seconds() {
  rusage u{};
  ::getrusage(RUSAGE_SELF, &u);
  return static_cast<double>(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
         static_cast<double>(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

histogram::histogram() : buckets_((powers + 2) * (1u << sub_bits)) {}

void histogram::add(steady::duration latency) {
  auto us = std::chrono::duration_cast<std::chrono::microseconds>(latency);
  auto b = bucket_of(static_cast<std::uint64_t>(std::max<long>(us.count(), 0)));
  ++buckets_[std::min(b, buckets_.size() - 1)];
  ++count_;
}

void histogram::add(const histogram& other) {
  for (std::size_t i = 0; i < buckets_.size(); ++i)
    buckets_[i] += other.buckets_[i];
  count_ += other.count_;
}

double histogram::percentile(double percent) const {
  auto rank = std::ceil(percent / 100 * static_cast<double>(count_));
  double seen = 0;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    seen += static_cast<double>(buckets_[i]);
    if (seen >= rank && seen > 0)
      return value_of(i);
  }
  return 0;
}

load closed_loop(std::size_t total, std::size_t in_flight,
                 const operation& run) {
  return run_loop(total, run, [&](tally& all, std::size_t, auto) {
    std::unique_lock lock{all.mutex};
    all.changed.wait(lock, [&] { return all.open < in_flight; });
    return steady::now();
  });
}

load open_loop(std::size_t total, double rate, const operation& run) {
  return run_loop(total, run, [&](tally&, std::size_t i, auto began) {
    return wait_for_turn(i, rate, began);
  });
}

load blocking_loop(std::size_t total, std::size_t threads,
                   const blocking_operation& run) {
  return thread_loop(total, threads, run,
                     [](std::size_t, auto) { return steady::now(); });
}

load paced_loop(std::size_t total, double rate, std::size_t threads,
                const blocking_operation& run) {
  return thread_loop(total, threads, run, [rate](std::size_t i, auto began) {
    return wait_for_turn(i, rate, began);
  });
}

void report::section(const std::string& title) {
  section_ = title;
  std::printf("\n%s\n", title.c_str());
}

void report::show(figure f) {
  std::printf("  %-46s %10.1f %-10s", f.name.c_str(), f.value, f.unit.c_str());
  if (f.baseline > 0)
    std::printf(" %6.2f of %s", f.value / f.baseline, f.against.c_str());
  if (!f.note.empty())
    std::printf("  (%s)", f.note.c_str());
  std::printf("\n");
  std::fflush(stdout);
  f.section = section_;
  figures_.push_back(std::move(f));
}

void report::add(std::string name, double value, std::string unit,
                 std::string note) {
  show({{}, std::move(name), value, std::move(unit), 0, {}, std::move(note)});
}

void report::add_ratio(std::string name, double value, std::string unit,
                       double baseline, std::string against, std::string note) {
  show({{},
        std::move(name),
        value,
        std::move(unit),
        baseline,
        std::move(against),
        std::move(note)});
}

void report::add_latency(const std::string& name, const load& l) {
  for (auto p : {50.0, 99.0, 99.9}) {
    char label[16];
    std::snprintf(label, sizeof label, " p%g", p);
    add(name + label, l.latency.percentile(p) / 1000, "ms");
  }
}

bool report::write_json(const std::string& path) const {
  json::writer out;
  out.begin_object().key("figures").begin_array();
  auto number = [](double v) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3f", v);
    return std::string{text};
  };
  for (const auto& f : figures_) {
    out.begin_object()
        .field("section", f.section)
        .field("name", f.name)
        .key("value")
        .raw(number(f.value))
        .field("unit", f.unit);
    if (f.baseline > 0)
      out.key("baseline")
          .raw(number(f.baseline))
          .field("against", f.against)
          .key("ratio")
          .raw(number(f.value / f.baseline));
    if (!f.note.empty())
      out.field("note", f.note);
    out.end_object();
  }
  out.end_array().end_object();
  std::ofstream file{path};
  file << out.str() << '\n';
  return file.good();
}

}  // namespace bc::bench
