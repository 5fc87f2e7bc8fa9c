// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <compel/process.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "criu/base/argument_vector.hpp"
#include "criu/base/process_title.hpp"
#include "criu/base/version.hpp"
#include "criu/cli/arguments.hpp"
#include "criu/cli/built_in_devices.hpp"
#include "criu/cli/help.hpp"
#include "criu/engine/command.hpp"
#include "criu/engine/engine.hpp"
#include "criu/kernel/proc/runnable.hpp"
#include "criu/options/config_file.hpp"
#include "criu/options/invocation.hpp"
#include "criu/service/daemon.hpp"
#include "criu/service/session.hpp"
#include "git_id.hpp"

namespace {

using namespace criu;

constexpr int kFailure = 1;
constexpr int kRemovedCommand = 255;

/// Opens /dev/null for each of the descriptors 0 to 2 that is closed. Without this, a file that criu opens later would
/// get the number of a standard stream.
void fillStandardStreams() {
    int fd;
    do {
        fd = sys(::open("/dev/null", O_RDWR), "open /dev/null");
    } while (fd <= STDERR_FILENO);
    ::close(fd);
}

/// Throws Error if a descriptor of --inherit-fd isn't open. Call it before criu opens files, which could get the number
/// of such a descriptor.
void requireOpen(const std::vector<model::InheritFd>& given) {
    for (const model::InheritFd& inherit : given)
        sys(::fcntl(inherit.fd, F_GETFD), "--inherit-fd fd[{}]:{}", inherit.fd, inherit.name);
}

/// Throws Error if criu is a set-user-id or set-group-id program, because its options would give the user all
/// privileges of the file's owner.
void requireOwnIds() {
    if (::getuid() == ::geteuid() && ::getgid() == ::getegid())
        return;
    Error error(EPERM, "criu is set-user-id or set-group-id, and would do for its user what only the owner may do");
    error.addHint("remove the mode bits (chmod ug-s). Users can be clients of criu service");
    throw error;
}

/// Makes a criu with file capabilities dumpable. The kernel starts it undumpable, and then lets it trace its own
/// children and open its own files in /proc only with CAP_SYS_PTRACE. A user still can't trace criu without criu's
/// capabilities (cap_ptrace_access_check() in security/commoncap.c).
void becomeDumpable() noexcept {
    if (::getauxval(AT_SECURE) != 0)
        ::prctl(PR_SET_DUMPABLE, 1);
}

/// Writes to standard output. Ignores errors, because the reader of a pipe may have closed it.
void print(std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
}

/// Listener that stores the pid of the restored root.
class RootNote final : public model::StageListener {
public:
    int reached(const model::StageEvent& event) override {
        root = event.root;
        return 0;
    }
    HostPid root;
};

/// Replaces criu by the command of --exec-cmd or of a request (execve(2)). The command is then the parent of the
/// restored root, and CRTOOLS_INIT_PID has the root's pid, as in CRIU 4.2. Java virtual machines with checkpoints
/// (CRaC) rely on this.
[[noreturn]] void become(const std::vector<std::string>& command, HostPid root) {
    const ArgumentVector arguments(command);
    sys(::setenv("CRTOOLS_INIT_PID", std::to_string(root.value).c_str(), 1), "set CRTOOLS_INIT_PID");
    ::signal(SIGPIPE, SIG_DFL);
    ::signal(SIGXFSZ, SIG_DFL);
    ::execvp(command.front().c_str(), arguments.data());
    kernel::failStart(command.front(), errno, fmt::format("run {}", command.front()));
}

/// Moves the socket of `criu swrk` to a close-on-exec descriptor, so that programs that criu executes don't inherit it.
UniqueFd takeSocket(int number) {
    UniqueFd socket(sys(::fcntl(number, F_DUPFD_CLOEXEC, STDERR_FILENO + 1),
                        "swrk {}: take over the socket of the client", number));
    if (number > STDERR_FILENO)
        ::close(number);
    return socket;
}

/// Makes standard output and standard error duplicates of the log of the request, for the command that a client
/// requested (exec_cmd). Does nothing if criu logs to standard error.
void writeToLog(const Log& log) {
    if (log.fd() < 0)
        return;
    for (const int stream : {STDOUT_FILENO, STDERR_FILENO})
        sys(::dup2(log.fd(), stream), "let fd {} lead to the log", stream);
}

int serveRequests(const options::Invocation& invocation, Log& log, StopRequest& stop) {
    const service::SessionContext context{invocation, log, stop, cli::builtInDevices};
    const auto [status, command, root] =
        invocation.command == options::Command::Swrk
            ? service::serve(takeSocket(invocation.requestSocket), service::Origin::Client, context)
            : service::runDaemon(context);
    if (status == 0 && !command.empty()) {
        stop.release();
        writeToLog(log);
        become(command, root);
    }
    return status;
}

/// Returns the command that the words begin with, or nullopt if there are no words.
std::optional<options::Command> commandToDescribe(std::vector<std::string> words) {
    return words.empty() ? std::nullopt : std::optional(options::takeCommand(words));
}

/// Runs a command. `failure`: exit status for an exception, which the function may change.
int run(std::vector<std::string> words, Log& log, int& failure) {
    // Shell completions ask for this list. It is no option, because no other way to pass options has a use for it.
    if (!words.empty() && words.back() == "--list-options") {
        words.pop_back();
        print(cli::optionList(commandToDescribe(std::move(words))));
        return 0;
    }
    cli::Arguments arguments = cli::readArguments(words);

    // Checks for --help and --version before criu reads configuration files, so that errors in these files don't
    // matter.
    model::Options asked;
    options::applySettings(arguments.settings, asked);
    if (asked.helpWanted) {
        print(cli::helpText(commandToDescribe(arguments.words)));
        return 0;
    }
    if (asked.versionWanted) {
        print(fmt::format("Version: {}\nGitID: {}\nImplementation: independent of CRIU, in C++\n", kVersion, kGitId));
        return 0;
    }

    requireOwnIds();
    becomeDumpable();
    options::Invocation invocation;
    invocation.settings =
        options::gatherSettings(std::move(arguments.settings), options::ConfigSources::fromEnvironment(), log);
    options::applySettings(invocation.settings, invocation.options);
    options::applyEnvironment(invocation.options);
    for (const int fd : invocation.options.closeFds)
        ::close(fd);
    requireOpen(invocation.options.inheritFds);
    fillStandardStreams();

    if (!arguments.words.empty() && (arguments.words.front() == "exec" || arguments.words.front() == "show")) {
        log.error("the command {} does not exist any more{}", arguments.words.front(),
                  arguments.words.front() == "show" ? ", use crit show" : "");
        return kRemovedCommand;
    }
    invocation.command = options::takeCommand(arguments.words);
    if (invocation.command == options::Command::Compare)
        failure = engine::kNotCompared;
    options::validate(invocation, std::move(arguments.words));

    // criu inherits an ignored SIGCHLD from its parent by execve(2). The kernel would then reap criu's children, and
    // criu couldn't wait for them.
    ::signal(SIGCHLD, SIG_DFL);
    // With SIGPIPE ignored, a write to a closed pipe or socket fails with EPIPE and doesn't kill criu.
    ::signal(SIGPIPE, SIG_IGN);
    // With SIGXFSZ ignored, a write beyond RLIMIT_FSIZE fails with EFBIG and doesn't kill criu.
    ::signal(SIGXFSZ, SIG_IGN);
    StopRequest stop;
    if (invocation.command == options::Command::Swrk || invocation.command == options::Command::Service) {
        const int status = serveRequests(invocation, log, stop);
        stop.stayBlocked();
        return status;
    }
    RootNote note;
    std::vector<model::StageListener*> listeners;
    const bool becomes = !invocation.options.execCommand.empty();
    if (becomes)
        listeners.push_back(&note);
    const auto [status, answer] = engine::execute(invocation, log, stop, cli::builtInDevices(), std::move(listeners));
    print(answer);
    if (status == 0 && becomes) {
        stop.release();
        become(invocation.options.execCommand, note.root);
    }
    stop.stayBlocked();
    return status;
}

}  // namespace

int main(int argc, char* argv[]) {
    std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
    reserveProcessTitle(argc, argv);
    Log log;
    // The status 1 of a comparison tells differences. Options may be wrong before criu knows the command.
    int failure = !words.empty() && words.front() == "compare" ? engine::kNotCompared : kFailure;
    int status = 0;
    try {
        status = run(std::move(words), log, failure);
    } catch (const std::exception& error) {
        log.failure(error);
        status = failure;
    }
    log.flushEarly();
    if (status != 0)
        log.repeatCause();
    else
        log.summarizeWarnings();
    return status;
}
