// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/device/subsystem_options.hpp"
#include "criu/model/options.hpp"
#include "criu/model/page_codec.hpp"
#include "criu/options/option_table.hpp"
#include "criu/options/option_values.hpp"

/// Actions of the rows of the option table. Each action stores the value of an option in a member of model::Options,
/// and throws Error for an invalid value.
namespace criu::options::action {

using model::Options;

inline constexpr std::int64_t kPidLimit = 1 << 22;  // PID_MAX_LIMIT of 64-bit kernels
inline constexpr std::int64_t kFdLimit = 1 << 30;
inline constexpr std::int64_t kMostPagesFiles = 64;
inline constexpr std::int64_t kMostConnections = 64;
inline constexpr std::int64_t kMostCompressLevel =
    std::max_element(std::begin(model::kPageCodecs), std::end(model::kPageCodecs),
                     [](const auto& one, const auto& other) { return one.mostLevel < other.mostLevel; }) -> mostLevel;
inline constexpr std::int64_t kMostDecompressThreads = 1024;
inline constexpr std::int64_t kTimeoutLimit = 1 << 30;

template <auto Member>
void flag(Options& options, const Given& given) {
    options.*Member = !given.negated;
}

template <auto... Members>
void flags(Options& options, const Given&) {
    ((options.*Members = true), ...);
}

/// Without a value, accepts that a restore loses the peers of pipes. With a value, accepts that a dump loses this kind.
inline void allowLoss(Options& options, const Given& given) {
    if (given.negated)
        options.allowedLosses.reset();
    if (given.value)
        options.allowedLosses |= parseLoss(*given.value);
    else
        options.allowLoss = !given.negated;
}

template <auto Member>
void clear(Options& options, const Given& given) {
    options.*Member = given.negated;
}

template <auto Member>
void text(Options& options, const Given& given) {
    options.*Member = std::string(*given.value);
}

/// Stores a path, which must not be empty.
template <auto Member>
void path(Options& options, const Given& given) {
    if (given.value->empty())
        fail("an empty path");
    options.*Member = std::string(*given.value);
}

template <auto Member>
void append(Options& options, const Given& given) {
    if (given.value->empty())
        fail("an empty value");
    (options.*Member).emplace_back(*given.value);
}

template <auto Member, std::int64_t Least, std::int64_t Most, typename Number = int>
void number(Options& options, const Given& given) {
    options.*Member = static_cast<Number>(parseNumber(*given.value, Least, Most));
}

/// Stores the result of a parser from option_values.hpp.
template <auto Member, auto Parse>
void parsed(Options& options, const Given& given) {
    options.*Member = Parse(*given.value);
}

template <auto Member, auto Parse>
void parsedItem(Options& options, const Given& given) {
    (options.*Member).push_back(Parse(*given.value));
}

template <auto Parse>
void parsedInto(Options& options, const Given& given) {
    Parse(*given.value, options);
}

template <model::FinalState State>
void finalState(Options& options, const Given& given) {
    if (!given.negated)  // a negated field of a request doesn't change a final state that another field has set
        options.finalState = State;
}

inline void removed(Options&, const Given&) {
    fail("this option does not exist any more");
}

inline void verbosity(Options& options, const Given& given) {
    options.verbosity = parseVerbosity(given.value, options.verbosity);
}

inline void tree(Options& options, const Given& given) {
    options.tree = HostPid(static_cast<pid_t>(parseNumber(*given.value, 1, kPidLimit)));
}

inline void closeFd(Options& options, const Given& given) {
    options.closeFds.push_back(static_cast<int>(parseNumber(*given.value, 0, kFdLimit)));
}

inline void timeout(Options& options, const Given& given) {
    options.timeout = std::chrono::seconds(parseNumber(*given.value, 0, kTimeoutLimit));
    options.timeoutGiven = true;
}

inline void holdTimeout(Options& options, const Given& given) {
    constexpr std::int64_t kLongest = 2'000'000;  // poll(2) takes milliseconds in an int
    options.holdTimeout = std::chrono::seconds(parseNumber(*given.value, 1, kLongest));
}

inline void cpuCaps(Options& options, const Given& given) {
    options.cpuCaps = parseCpuCaps(given.value.value_or("all"), options.cpuCaps);
}

inline void manageCgroups(Options& options, const Given& given) {
    options.cgroupMode = given.value ? parseCgroupMode(*given.value) : model::CgroupMode::Soft;
}

inline void extUnixSockets(Options& options, const Given& given) {
    options.extUnixSockets = true;
    if (given.value)
        for (const std::uint32_t inode : parseInodes(*given.value))
            options.extUnixInodes.push_back(inode);
}

inline void enableFilesystems(Options& options, const Given& given) {
    for (std::string& name : parseList(*given.value))
        options.enabledFilesystems.push_back(std::move(name));
}

inline void emptyNamespace(Options& options, const Given& given) {
    if (*given.value != "net")
        fail("unknown namespace '{}', use: net", *given.value);
    options.emptyNetNs = true;
}

inline void vethPair(Options& options, const Given& given) {
    auto [inside, outside] = splitPair(*given.value, '=', "IN=OUT");
    options.vethPairs.push_back({std::move(inside), std::move(outside)});
}

inline void compat(Options& options, const Given& given) {
    if (*given.value != "4.2")
        fail("images can be written for CRIU 4.2, not {}", *given.value);
    options.compat = true;
}

inline void compress(Options& options, const Given& given) {
    options.compress = parsePageCodec(given.value.value_or("lz4"));
}

inline void compressBlocks(Options& options, const Given& given) {
    options.compressBlock = parseCompressBlock(*given.value);
    if (options.compress == model::PageCodec::None)
        options.compress = model::PageCodec::Lz4;
}

/// Stores the value of a subsystem option.
inline void subsystemValue(Options& options, const Given& given) {
    using Kind = device::SubsystemOption::Kind;
    const device::SubsystemOption& option = *given.row.subsystem;
    switch (option.kind) {
        case Kind::Flag:
            return option.set(options, given.negated ? 0 : 1);
        case Kind::Number:
            return option.set(options,
                              static_cast<std::uint64_t>(parseNumber(*given.value, option.least, option.most)));
        case Kind::Size:
            return option.set(options, parseSize(*given.value));
    }
}

inline void gpuMap(Options& options, const Given& given) {
    auto [from, to] = splitPair(*given.value, '=', "OLD=NEW");
    options.gpuMap.push_back({std::move(from), std::move(to)});
}

}  // namespace criu::options::action
