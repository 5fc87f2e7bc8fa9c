// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/proc/runnable.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "criu/base/argument_vector.hpp"
#include "criu/base/error.hpp"
#include "criu/base/unique_fd.hpp"

namespace criu::kernel {

void requireRunnable(const std::vector<std::string>& command) {
    const ArgumentVector arguments(command);
    int ends[2];
    sys(::pipe2(ends, O_CLOEXEC), "create a pipe");
    const UniqueFd result(ends[0]);
    UniqueFd report(ends[1]);
    const pid_t child = sys(::fork(), "create a process to try {} in", command.front());
    if (child == 0) {
        // The kernel stops a traced process after a successful execve(2), before the program runs (ptrace(2),
        // PTRACE_TRACEME).
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // without a tracer, the program would run
        int code = ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0 ? 0 : errno;
        if (code == 0) {
            ::execvp(command.front().c_str(), arguments.data());
            code = errno;
        }
        [[maybe_unused]] const ssize_t written = ::write(report.get(), &code, sizeof(code));
        ::_exit(1);
    }
    report.reset();
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFSTOPPED(status)) {
        ::kill(child, SIGKILL);
        while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
        }
        return;
    }
    int code = 0;
    if (::read(result.get(), &code, sizeof(code)) == sizeof(code))
        failStart(command.front(), code, fmt::format("run {}", command.front()));
}

void failStart(const std::string& program, int code, std::string what) {
    Error error(code, std::move(what));
    const bool hasSlash = program.find('/') != std::string::npos;
    struct stat status {};
    const bool exists = ::stat(program.c_str(), &status) == 0 && S_ISREG(status.st_mode);
    const bool hasBlank = program.find(' ') != std::string::npos;
    if (hasBlank && code == ENOENT)
        error.addHint(fmt::format("'{}' is taken as the name of one program, without arguments", program));
    else if (!hasSlash && code == ENOENT)
        error.addHint(
            fmt::format("a name without a slash is looked up in PATH; in the current directory it is ./{}", program));
    else if (code == EACCES && exists && (status.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)) == 0)
        error.addHint(fmt::format("the file isn't executable: chmod +x {}", program));
    else if (code == ENOENT && exists)
        error.addHint("the file exists, but the interpreter in its first line, or its dynamic linker, doesn't");
    else if (code == ENOEXEC)
        error.addHint("a script needs a first line such as #!/bin/sh");
    throw error;
}

}  // namespace criu::kernel
