// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/ipc/ipc_limits.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <optional>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/scan.hpp"

namespace criu::namespaces {
namespace {

constexpr std::size_t kSemaphoreLimits = 4;

using Field = std::uint32_t IpcVarEntry::*;
using LargeField = std::uint64_t IpcVarEntry::*;
using Presence = protobuf_c_boolean IpcVarEntry::*;

template <typename F>
struct Limit {
    const char* name;  ///< path below /proc/sys
    F field;
};
struct OptionalLimit {
    const char* name;
    Field field;
    Presence present;
};

constexpr const char* kSemaphores = "kernel/sem";
/// Sysctl that makes the kernel remove a segment when its creator ends, if no process has attached the segment.
constexpr const char* kForcedRemoval = "kernel/shm_rmid_forced";
constexpr Limit<Field> kLimits[] = {
    {"kernel/msgmax", &IpcVarEntry::msg_ctlmax}, {"kernel/msgmnb", &IpcVarEntry::msg_ctlmnb},
    {"kernel/msgmni", &IpcVarEntry::msg_ctlmni}, {"kernel/auto_msgmni", &IpcVarEntry::auto_msgmni},
    {"kernel/shmmni", &IpcVarEntry::shm_ctlmni}, {kForcedRemoval, &IpcVarEntry::shm_rmid_forced},
};
constexpr Limit<LargeField> kLargeLimits[] = {
    {"kernel/shmmax", &IpcVarEntry::shm_ctlmax},
    {"kernel/shmall", &IpcVarEntry::shm_ctlall},
};
/// Sysctls of POSIX message queues. Images contain zero if the kernel had no POSIX message queues.
constexpr Limit<Field> kQueueLimits[] = {
    {"fs/mqueue/queues_max", &IpcVarEntry::mq_queues_max},
    {"fs/mqueue/msg_max", &IpcVarEntry::mq_msg_max},
    {"fs/mqueue/msgsize_max", &IpcVarEntry::mq_msgsize_max},
};
constexpr OptionalLimit kQueueDefaults[] = {
    {"fs/mqueue/msg_default", &IpcVarEntry::mq_msg_default, &IpcVarEntry::has_mq_msg_default},
    {"fs/mqueue/msgsize_default", &IpcVarEntry::mq_msgsize_default, &IpcVarEntry::has_mq_msgsize_default},
};
/// Sysctls with the id of the next object. If the value is -1, the kernel chooses the id; -1 can't be written.
constexpr OptionalLimit kNextIds[] = {
    {"kernel/msg_next_id", &IpcVarEntry::msg_next_id, &IpcVarEntry::has_msg_next_id},
    {"kernel/sem_next_id", &IpcVarEntry::sem_next_id, &IpcVarEntry::has_sem_next_id},
    {"kernel/shm_next_id", &IpcVarEntry::shm_next_id, &IpcVarEntry::has_shm_next_id},
};

std::string pathOf(std::string_view name) {
    return fmt::format("/proc/sys/{}", name);
}

/// Reads the numbers of a sysctl. Returns nullopt if the kernel lacks the sysctl.
template <typename Number>
std::optional<std::vector<Number>> readNumbers(std::string_view name) {
    const UniqueFd file(::open(pathOf(name).c_str(), O_RDONLY | O_CLOEXEC));
    if (!file && errno == ENOENT)
        return std::nullopt;
    if (!file)
        failErrno("open {}", pathOf(name));
    kernel::ProcBuffer buffer;
    kernel::Scanner scan(buffer.fill(file.get(), pathOf(name)));
    std::vector<Number> numbers;
    Number number{};
    while (scan.number(number))
        numbers.push_back(number);
    scan.blanks();
    scan.skip('\n');
    if (numbers.empty() || !scan.done())
        fail("{} doesn't hold numbers", pathOf(name));
    return numbers;
}

template <typename Number>
std::optional<Number> readNumber(std::string_view name) {
    const auto numbers = readNumbers<Number>(name);
    return numbers ? std::optional(numbers->front()) : std::nullopt;
}

template <typename Number>
void writeNumbers(std::string_view name, const std::vector<Number>& numbers, Log* log) {
    if (readNumbers<Number>(name) == numbers)
        return;
    const std::string path = pathOf(name);
    const std::string text = fmt::format("{}", fmt::join(numbers, " "));
    const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file && log != nullptr && (errno == ENOENT || errno == EACCES)) {
        log->warn("{} can't be set to {} here: {}", path, text, errno == ENOENT ? "it doesn't exist" : "no permission");
        return;
    }
    if (!file)
        failErrno("open {}", path);
    sys(::write(file.get(), text.data(), text.size()), "write {} to {}", text, path);
}

}  // namespace

void readIpcLimits(IpcVarEntry& entry, Arena& arena) {
    const auto semaphores = readNumbers<std::uint32_t>(kSemaphores);
    if (!semaphores || semaphores->size() != kSemaphoreLimits)
        fail("{} doesn't hold {} numbers", pathOf(kSemaphores), kSemaphoreLimits);
    entry.n_sem_ctls = semaphores->size();
    entry.sem_ctls = arena.copy(std::span<const std::uint32_t>(*semaphores));
    for (const auto& limit : kLimits)
        entry.*limit.field = readNumber<std::uint32_t>(limit.name).value_or(0);
    for (const auto& limit : kLargeLimits)
        entry.*limit.field = readNumber<std::uint64_t>(limit.name).value_or(0);
    for (const auto& limit : kQueueLimits)
        entry.*limit.field = readNumber<std::uint32_t>(limit.name).value_or(0);
    const auto optional = [&](const OptionalLimit& limit, std::optional<std::int64_t> value) {
        if (!value || *value < 0)
            return;
        entry.*limit.present = 1;
        entry.*limit.field = static_cast<std::uint32_t>(*value);
    };
    for (const auto& limit : kQueueDefaults)
        optional(limit, readNumber<std::int64_t>(limit.name));
    for (const auto& limit : kNextIds)
        optional(limit, readNumber<std::int64_t>(limit.name));
}

void writeIpcLimits(const IpcVarEntry& entry, Log& log) {
    if (entry.n_sem_ctls != kSemaphoreLimits)
        fail("the images have {} limits of semaphores, not {}", entry.n_sem_ctls, kSemaphoreLimits);
    writeNumbers(kSemaphores, std::vector<std::uint32_t>(entry.sem_ctls, entry.sem_ctls + entry.n_sem_ctls), &log);
    for (const auto& limit : kLimits)
        if (limit.name != kForcedRemoval)
            writeNumbers(limit.name, std::vector{entry.*limit.field}, &log);
    for (const auto& limit : kLargeLimits)
        writeNumbers(limit.name, std::vector{entry.*limit.field}, &log);
    for (const auto& limit : kQueueLimits)
        if (entry.*limit.field != 0)
            writeNumbers(limit.name, std::vector{entry.*limit.field}, &log);
    for (const auto& limit : kQueueDefaults)
        if (entry.*limit.present != 0)
            writeNumbers(limit.name, std::vector{entry.*limit.field}, &log);
    for (const auto& limit : kNextIds)
        if (entry.*limit.present != 0)
            writeNumbers(limit.name, std::vector<std::int64_t>{entry.*limit.field}, &log);
}

void writeForcedRemoval(const IpcVarEntry& entry, Log& log) {
    writeNumbers(kForcedRemoval, std::vector{entry.shm_rmid_forced}, &log);
}

void raiseIpcLimit(const std::string& name, std::uint64_t atLeast) {
    const auto present = readNumber<std::uint64_t>(name);
    if (present && *present < atLeast)
        writeNumbers(name, std::vector{atLeast}, nullptr);
}

}  // namespace criu::namespaces
