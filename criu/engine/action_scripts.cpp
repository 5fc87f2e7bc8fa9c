// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/action_scripts.hpp"

#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "criu/kernel/proc/runnable.hpp"

namespace criu::engine {
namespace {

constexpr int kGraceMs = 3000;  // milliseconds between SIGTERM and SIGKILL when criu ends a program

/// Attributes of posix_spawn(3) that give a program the signal mask and signal actions with which criu was started.
class SpawnAttributes {
public:
    explicit SpawnAttributes(const sigset_t& mask) {
        ::posix_spawnattr_init(&attributes_);
        sigset_t standard;
        ::sigemptyset(&standard);
        ::sigaddset(&standard, SIGPIPE);
        ::sigaddset(&standard, SIGXFSZ);
        ::posix_spawnattr_setsigdefault(&attributes_, &standard);
        ::posix_spawnattr_setsigmask(&attributes_, &mask);
        ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    }
    ~SpawnAttributes() { ::posix_spawnattr_destroy(&attributes_); }
    SpawnAttributes(const SpawnAttributes&) = delete;
    SpawnAttributes& operator=(const SpawnAttributes&) = delete;

    [[nodiscard]] const posix_spawnattr_t* get() const noexcept { return &attributes_; }

private:
    posix_spawnattr_t attributes_{};
};

/// Running program of --action-script. The destructor kills the program if reap() wasn't called.
class Child {
public:
    explicit Child(pid_t pid)
        : pid_(pid), fd_(static_cast<int>(::syscall(SYS_pidfd_open, static_cast<long>(pid), 0L))) {}
    ~Child() {
        if (pid_ == 0)
            return;
        ::kill(pid_, SIGTERM);
        if (!ended(-1, kGraceMs))
            ::kill(pid_, SIGKILL);
        reap();
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    /// Waits for the end of the program. Returns false if the time is up, or if `stop` becomes readable, before the
    /// program ends. `timeoutMs`: milliseconds; -1 means no limit.
    bool ended(int stop, int timeoutMs) const noexcept {
        if (!fd_)
            return true;  // without a pidfd, the caller continues with reap(), which waits for the end
        pollfd waiting[2] = {{fd_.get(), POLLIN, 0}, {stop, POLLIN, 0}};
        int count;
        do {
            count = ::poll(waiting, 2, timeoutMs);
        } while (count < 0 && errno == EINTR);
        return waiting[0].revents != 0;
    }

    /// Reaps the program. Returns its exit status, or 128 + signal if a signal killed the program.
    int reap() noexcept {
        int status = 0;
        while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
        }
        pid_ = 0;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }

private:
    pid_t pid_;
    UniqueFd fd_;
};

bool isVariable(std::string_view entry, std::string_view name) noexcept {
    return entry.starts_with(name) && entry.substr(name.size()).starts_with('=');
}

/// Returns true if a failure at this stage ends the run. At other stages, the failure is only logged.
bool decides(model::Stage stage) noexcept {
    return stage != model::Stage::NetworkUnlock && stage != model::Stage::PreResume &&
           stage != model::Stage::PostResume;
}

}  // namespace

int ActionScripts::reached(const model::StageEvent& event) {
    if (programs_.empty())
        return 0;

    const std::string_view stage = model::stageName(event.stage);
    constexpr std::string_view kAction = "CRTOOLS_SCRIPT_ACTION";
    constexpr std::string_view kImageDir = "CRTOOLS_IMAGE_DIR";
    constexpr std::string_view kInitPid = "CRTOOLS_INIT_PID";
    constexpr std::string_view kStatus = "CRTOOLS_SCRIPT_STATUS";
    std::vector<std::string> own{fmt::format("{}={}", kAction, stage),
                                 fmt::format("{}=/proc/{}/fd/{}", kImageDir, ::getpid(), event.imagesDir)};
    if (event.root)
        own.push_back(fmt::format("{}={}", kInitPid, event.root));
    std::string& earlier = own.emplace_back();

    std::vector<char*> environment;
    for (char** entry = environ; *entry != nullptr; ++entry)
        if (!isVariable(*entry, kAction) && !isVariable(*entry, kImageDir) && !isVariable(*entry, kInitPid) &&
            !isVariable(*entry, kStatus))
            environment.push_back(*entry);
    const std::size_t inherited = environment.size();

    log_.info("Running {} action scripts", stage);
    int status = 0;
    for (auto program = programs_.rbegin(); program != programs_.rend(); ++program) {
        const ErrorContext context([&] { return fmt::format("action script {} at {}", *program, stage); });
        earlier = fmt::format("{}={}", kStatus, status);
        environment.resize(inherited);
        for (std::string& entry : own)
            environment.push_back(entry.data());
        environment.push_back(nullptr);
        const int one = runOne(*program, environment, event.stage == model::Stage::PostResume ? std::nullopt : limit_);
        if (one != 0) {
            log_.warn("Action script {} at {} exited with status {}", *program, stage, one);
            // The terminal and clients get the first cause of a failed run, so this cause names the script.
            if (decides(event.stage))
                log_.noteCause({0, fmt::format("action script {} at {} exited with status {}", *program, stage, one)});
        }
        status |= one;
    }
    return status;
}

int ActionScripts::runOne(const std::string& program, std::span<char* const> environment,
                          std::optional<std::chrono::seconds> limit) {
    const SpawnAttributes attributes(stop_.inheritedMask());
    std::string name = program;
    char* const arguments[] = {name.data(), nullptr};
    pid_t pid = 0;
    const int problem = ::posix_spawnp(&pid, program.c_str(), nullptr, attributes.get(), arguments, environment.data());
    if (problem != 0)
        kernel::failStart(program, problem, "start it");

    Child child(pid);
    const int timeoutMs = limit ? static_cast<int>(std::chrono::milliseconds(*limit).count()) : -1;
    if (!child.ended(stop_.fd(), timeoutMs)) {
        stop_.throwIfRequested();
        if (limit)
            failWith(ETIMEDOUT, "hasn't ended within {} s", limit->count());
    }
    return child.reap();
}

}  // namespace criu::engine
