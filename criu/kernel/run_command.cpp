// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/run_command.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "criu/base/argument_vector.hpp"
#include "criu/base/bundle.hpp"
#include "criu/base/error.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/kernel/proc/pidfd.hpp"

namespace criu::kernel {
namespace {

/// Folders in which criu searches for programs, and the $PATH of the programs that criu runs.
constexpr std::string_view kProgramFolders = "/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin";

UniqueFd memoryFile(std::string_view content) {
    UniqueFd file(sys(::memfd_create("criu-program", MFD_CLOEXEC), "create a file in memory"));
    while (!content.empty()) {
        const auto written = sys(::write(file.get(), content.data(), content.size()), "write a file in memory");
        content.remove_prefix(static_cast<std::size_t>(written));
    }
    ::lseek(file.get(), 0, SEEK_SET);
    return file;
}

std::string contentOf(const UniqueFd& file) {
    struct stat stat {};
    sys(::fstat(file.get(), &stat), "stat a file in memory");
    std::string text(static_cast<std::size_t>(stat.st_size), '\0');
    const auto got = sys(::pread(file.get(), text.data(), text.size(), 0), "read a file in memory");
    text.resize(static_cast<std::size_t>(got));
    return text;
}

class Actions {
public:
    Actions() { ::posix_spawn_file_actions_init(&actions_); }
    ~Actions() { ::posix_spawn_file_actions_destroy(&actions_); }
    Actions(const Actions&) = delete;
    Actions& operator=(const Actions&) = delete;

    void put(const UniqueFd& file, int at) { ::posix_spawn_file_actions_adddup2(&actions_, file.get(), at); }
    /// Closes all other descriptors in the program, because criu may have inherited descriptors that aren't
    /// close-on-exec.
    void closeOthers() { ::posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1); }
    [[nodiscard]] const posix_spawn_file_actions_t* get() const noexcept { return &actions_; }

private:
    posix_spawn_file_actions_t actions_{};
};

class Attributes {
public:
    Attributes() {
        ::posix_spawnattr_init(&attributes_);
        // Runs the program in a new process group. If a signal to criu's group could end the program, criu couldn't
        // revert changes by it. Blocked signals stay blocked.
        ::posix_spawnattr_setpgroup(&attributes_, 0);
        ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP);
    }
    ~Attributes() { ::posix_spawnattr_destroy(&attributes_); }
    Attributes(const Attributes&) = delete;
    Attributes& operator=(const Attributes&) = delete;

    [[nodiscard]] const posix_spawnattr_t* get() const noexcept { return &attributes_; }

private:
    posix_spawnattr_t attributes_{};
};

int awaitEnd(pid_t pid, const std::string& program) {
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            failErrno("wait for {}", program);
    return status;
}

/// Waits until the program has ended. Kills it and throws Error if a stop is requested.
void watch(pid_t pid, const std::string& program, StopRequest& stop) {
    const PidFd process(pid);
    while (!process.waitExit(std::chrono::milliseconds(0))) {
        pollfd events[] = {{process.fd(), POLLIN, 0}, {stop.fd(), POLLIN, 0}};
        if (::poll(events, std::size(events), -1) < 0 && errno != EINTR)
            failErrno("wait for {}", program);
        if (events[1].revents == 0)
            continue;
        // Kills the children of the program, too, because the program leads its process group (Attributes).
        ::kill(-pid, SIGKILL);
        (void)awaitEnd(pid, program);
        stop.throwIfRequested();
        return;
    }
}

}  // namespace

std::string findProgram(const std::string& name) {
    // Searches $PATH last, because its value comes from the caller and may lack the administrators' directories.
    std::string folders(kProgramFolders);
    // Searches the bundle first, because the host's program may lack what criu needs: busybox's ip can't save routes.
    if (const std::string& bundle = bundleFolder(); !bundle.empty())
        folders.insert(0, bundle + "/libexec:");
    if (const char* const path = ::secure_getenv("PATH"))
        folders.append(":").append(path);
    for (std::size_t at = 0; at < folders.size();) {
        const std::size_t end = std::min(folders.find(':', at), folders.size());
        const std::string candidate = folders.substr(at, end - at) + "/" + name;
        if (candidate.front() == '/' && ::access(candidate.c_str(), X_OK) == 0)
            return candidate;
        at = end + 1;
    }
    return {};
}

std::string runProgram(const std::string& program, std::vector<std::string> arguments, std::string_view input,
                       StopRequest* stop) {
    const UniqueFd in = memoryFile(input);
    const UniqueFd out = memoryFile({});
    const UniqueFd problems = memoryFile({});
    Actions actions;
    actions.put(in, STDIN_FILENO);
    actions.put(out, STDOUT_FILENO);
    actions.put(problems, STDERR_FILENO);
    actions.closeOthers();
    arguments.insert(arguments.begin(), program);
    const ArgumentVector words(std::move(arguments));
    pid_t pid = 0;
    const Attributes attributes;
    // Passes a minimal environment: variables such as XTABLES_LIBDIR make programs load code, and locales change their
    // output.
    std::string path = fmt::format("PATH={}", kProgramFolders);
    std::string locale = "LC_ALL=C";
    char* const environment[] = {path.data(), locale.data(), nullptr};
    const int problem =
        ::posix_spawn(&pid, program.c_str(), actions.get(), attributes.get(), words.data(), environment);
    if (problem != 0)
        failWith(problem, "start {}", program);
    if (stop != nullptr)
        watch(pid, program, *stop);
    const int status = awaitEnd(pid, program);
    if (status != 0) {
        std::string text = contentOf(problems);
        while (text.ends_with('\n'))
            text.pop_back();
        std::replace(text.begin(), text.end(), '\n', ' ');
        fail("{} failed ({} {}){}{}", program, WIFSIGNALED(status) ? "signal" : "status",
             WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), text.empty() ? "" : ": ", text);
    }
    return contentOf(out);
}

}  // namespace criu::kernel
