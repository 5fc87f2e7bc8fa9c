// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/probe/feature_cache.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "criu/base/error.hpp"
#include "criu/kernel/names/created_name.hpp"
#include "criu/kernel/proc/proc_ns.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/scan.hpp"
#include "criu/kernel/proc/status.hpp"

namespace criu::kernel {

namespace {

/// Version of the cache. It must increase when a probe changes its criterion.
constexpr int kCacheVersion = 2;
constexpr std::string_view kLastLine = "end";

}  // namespace

std::string featureCachePath() {
    if (::geteuid() == 0)
        return "/run/criu.features";
    const char* const directory = ::secure_getenv("XDG_RUNTIME_DIR");
    return directory == nullptr || *directory != '/' ? std::string() : std::string(directory) + "/criu.features";
}

std::string featureCacheKey() {
    const ProcDir proc;
    const ProcPid self = proc.self();
    ProcBuffer buffer;
    const TaskStatus status = readStatus(self, buffer);
    std::string boot = proc.readFile("sys/kernel/random/boot_id");
    boot.erase(boot.find_last_not_of('\n') + 1);
    utsname names{};
    sys(::uname(&names), "uname");
    return fmt::format("criu-features {} boot {} kernel {} {} uid {} capabilities {:x} user-namespace {} seccomp {}",
                       kCacheVersion, boot, names.release, names.version, status.uid.effective, status.capEffective,
                       readNamespaceId(self, NamespaceKind::User).value_or(0),
                       static_cast<int>(status.seccomp.value_or(SeccompMode::Disabled)));
}

std::optional<std::vector<std::string_view>> parseFeatureCache(std::string_view text, std::string_view key) {
    Scanner lines(text);
    std::string_view line;
    if (!lines.line(line) || line != key)
        return std::nullopt;
    std::vector<std::string_view> names;
    while (lines.line(line)) {
        if (line == kLastLine)
            return lines.done() ? std::optional(std::move(names)) : std::nullopt;
        names.push_back(line);
    }
    return std::nullopt;
}

std::optional<std::string> readFeatureCache(const std::string& path) {
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0)
        return std::nullopt;
    constexpr off_t mostBytes = 65536;
    if (!S_ISREG(status.st_mode) || status.st_uid != ::geteuid() || (status.st_mode & 07777) != 0600 ||
        status.st_size > mostBytes)
        return std::nullopt;
    ProcBuffer buffer;
    return std::string(buffer.fill(file.get(), path));
}

void writeFeatureCache(const std::string& path, std::string_view key, const std::vector<std::string_view>& names) {
    std::string text(key);
    text += '\n';
    for (const std::string_view name : names) {
        text += name;
        text += '\n';
    }
    text += kLastLine;
    text += '\n';
    CreatedName temporary(fmt::format("{}.{}", path, ::getpid()));
    const UniqueFd file = temporary.createFile(O_WRONLY);
    const ssize_t written = sys(::write(file.get(), text.data(), text.size()), "write {}", path);
    if (static_cast<std::size_t>(written) != text.size())
        fail("write {}: only {} of {} bytes", path, written, text.size());
    renameOver(temporary.directory(), temporary.name(), path.substr(path.rfind('/') + 1));
    temporary.release();
}

}  // namespace criu::kernel
