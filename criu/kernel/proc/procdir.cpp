// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/proc/procdir.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "criu/base/error.hpp"

namespace criu::kernel {

namespace {

/// Returns true if the kernel writes all content of a file of a task as one record. A read(2) of such a file returns
/// less than the buffer holds only at the end (seq_read_iter() and simple_read_from_buffer() of Linux).
bool isOneRecord(std::string_view name) noexcept {
    constexpr std::array<std::string_view, 8> kFiles{"auxv",          "cgroup", "coredump_filter", "limits", "loginuid",
                                                     "oom_score_adj", "stat",   "status"};
    return std::ranges::find(kFiles, name.substr(name.rfind('/') + 1)) != kFiles.end();
}

UniqueFd openAt(const UniqueFd& dir, const std::string& base, const std::string& name, int flags) {
    return UniqueFd(sys(::openat(dir.get(), name.c_str(), flags | O_CLOEXEC), "open {}/{}", base, name));
}

std::string readAt(const UniqueFd& dir, const std::string& base, const std::string& name) {
    const UniqueFd file = openAt(dir, base, name, O_RDONLY);
    ProcBuffer buffer;
    return std::string(buffer.fill(file.get(), base + '/' + name));
}

std::string_view fillWith(ProcBuffer& buffer, const UniqueFd& file, const std::string& name, std::string_view path) {
    return isOneRecord(name) ? buffer.fillRecord(file.get(), path) : buffer.fill(file.get(), path);
}

/// Appends the numeric names that one getdents64(2) with this memory returns. Returns false at the end.
bool addNumbers(int fd, const std::string& path, std::span<char> block, std::vector<int>& found) {
    const auto got = sys(::getdents64(fd, block.data(), block.size()), "list {}", path);
    for (ssize_t at = 0; at < got;) {
        const auto* const entry = reinterpret_cast<const dirent64*>(block.data() + at);
        const char* const end = entry->d_name + std::strlen(entry->d_name);
        int number = 0;
        const auto [stop, failure] = std::from_chars(entry->d_name, end, number);
        if (failure == std::errc{} && stop == end)
            found.push_back(number);
        at += entry->d_reclen;
    }
    return got != 0;
}

/// Returns the numeric names in a directory. For thousands of threads, getdents64(2) with a large buffer needs ten
/// times fewer calls than readdir(3).
std::vector<int> numericEntries(int fd, const std::string& path) {
    std::vector<int> found;
    alignas(dirent64) std::array<char, 65536> block;
    while (addNumbers(fd, path, block, found)) {
    }
    return found;
}

}  // namespace

void ProcBuffer::grow() {
    constexpr std::size_t first = 16384;
    const std::size_t bigger = capacity_ == 0 ? first : capacity_ * 2;
    auto bytes = std::make_unique_for_overwrite<char[]>(bigger);
    if (capacity_ != 0)
        std::memcpy(bytes.get(), bytes_.get(), capacity_);
    bytes_ = std::move(bytes);
    capacity_ = bigger;
}

std::string_view ProcBuffer::fill(int fd, std::string_view path) {
    return fill(fd, path, false);
}

std::string_view ProcBuffer::fillRecord(int fd, std::string_view path) {
    return fill(fd, path, true);
}

std::string_view ProcBuffer::fill(int fd, std::string_view path, bool oneRecord) {
    std::size_t used = 0;
    for (;;) {
        if (used == capacity_)
            grow();
        const ssize_t got = ::read(fd, bytes_.get() + used, capacity_ - used);
        if (got < 0) {
            if (errno == EINTR)
                continue;
            failErrno("read {}", path);
        }
        if (got == 0)
            return {bytes_.get(), used};
        used += static_cast<std::size_t>(got);
        if (oneRecord && used < capacity_)
            return {bytes_.get(), used};
    }
}

ProcPid ProcPid::thread(pid_t tid) const {
    const std::string name = fmt::format("task/{}", tid);
    return {openAt(dir_, path_, name, O_PATH | O_DIRECTORY), path_ + '/' + name};
}

std::string_view ProcPid::read(const std::string& name, ProcBuffer& buffer) const {
    const UniqueFd file = open(name, O_RDONLY);
    const ErrorContext context([&] { return path_ + '/' + name; });
    return fillWith(buffer, file, name, "file");
}

std::string ProcPid::readFile(const std::string& name) const {
    const UniqueFd file = open(name, O_RDONLY);
    ProcBuffer buffer;
    return std::string(fillWith(buffer, file, name, path_ + '/' + name));
}

std::optional<std::string> ProcPid::tryReadFile(const std::string& name) const {
    const UniqueFd file(::openat(dir_.get(), name.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) {
        if (errno == ENOENT)
            return std::nullopt;
        failErrno("open {}/{}", path_, name);
    }
    ProcBuffer buffer;
    return std::string(fillWith(buffer, file, name, path_ + '/' + name));
}

std::string ProcPid::readLink(const std::string& name) const {
    std::array<char, PATH_MAX> target;
    const auto length =
        sys(::readlinkat(dir_.get(), name.c_str(), target.data(), target.size()), "read link {}/{}", path_, name);
    return {target.data(), static_cast<std::size_t>(length)};
}

bool ProcPid::hasTarget(const std::string& name) const noexcept {
    char first = 0;
    return ::readlinkat(dir_.get(), name.c_str(), &first, sizeof(first)) >= 0;
}

struct stat ProcPid::statTarget(const std::string& name) const {
    struct stat found {};
    sys(::fstatat(dir_.get(), name.c_str(), &found, 0), "stat {}/{}", path_, name);
    return found;
}

UniqueFd ProcPid::open(const std::string& name, int flags) const {
    return openAt(dir_, path_, name, flags);
}

void ProcPid::write(const std::string& name, std::string_view text) const {
    const UniqueFd file = open(name, O_WRONLY);
    const auto written = sys(::write(file.get(), text.data(), text.size()), "write \"{}\" to {}/{}", text, path_, name);
    if (static_cast<std::size_t>(written) != text.size())
        fail("write \"{}\" to {}/{}: only {} bytes taken", text, path_, name, written);
}

std::vector<int> ProcPid::numbers(const std::string& name) const {
    const UniqueFd dir = open(name, O_RDONLY | O_DIRECTORY);
    return numericEntries(dir.get(), path_ + '/' + name);
}

ProcNumbers::ProcNumbers(const ProcPid& process, const std::string& name)
    : dir_(process.open(name, O_RDONLY | O_DIRECTORY)), path_(process.path() + '/' + name) {}

bool ProcNumbers::next(std::vector<int>& found) {
    alignas(dirent64) std::array<char, 8192> block;
    return addNumbers(dir_.get(), path_, block, found);
}

ProcDir::ProcDir(std::string path)
    : dir_(sys(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC), "open {}", path)), path_(std::move(path)) {}

ProcPid ProcDir::open(pid_t pid) const {
    const std::string name = std::to_string(pid);
    return {openAt(dir_, path_, name, O_PATH | O_DIRECTORY), path_ + '/' + name};
}

ProcPid ProcDir::self() const {
    return {openAt(dir_, path_, "self", O_PATH | O_DIRECTORY), path_ + "/self"};
}

ProcPid ProcDir::threadSelf() const {
    return {openAt(dir_, path_, "thread-self", O_PATH | O_DIRECTORY), path_ + "/thread-self"};
}

std::string ProcDir::readFile(pid_t pid, std::string_view name) const {
    return readAt(dir_, path_, fmt::format("{}/{}", pid, name));
}

std::string ProcDir::readFile(const std::string& name) const {
    return readAt(dir_, path_, name);
}

std::vector<int> ProcDir::processes() const {
    const UniqueFd dir = openAt(dir_, path_, ".", O_RDONLY | O_DIRECTORY);
    return numericEntries(dir.get(), path_);
}

}  // namespace criu::kernel
