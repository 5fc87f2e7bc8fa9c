// SPDX-License-Identifier: GPL-2.0-only
#include "criu/tty/outside_terminals.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <span>

#include "criu/base/error.hpp"
#include "criu/kernel/pass_fd.hpp"
#include "criu/kernel/terminal.hpp"
#include "criu/model/options.hpp"

namespace criu::tty {
namespace {

/// Returns a copy of criu's terminal: of a standard stream if one is a terminal, otherwise the controlling terminal.
/// Returns an invalid descriptor if criu has neither.
UniqueFd copyShellJobTerminal() {
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        if (::isatty(fd) != 0)
            return UniqueFd(sys(::fcntl(fd, F_DUPFD_CLOEXEC, 0), "copy the terminal of criu"));
    return kernel::openControllingTerminal();
}

}  // namespace

void OutsideTerminals::open(const model::Options& options, const std::function<UniqueFd(UniqueFd)>& toServiceRange) {
    if (options.orphanPtsMaster) {
        int ends[2];
        sys(::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), "create a pair of sockets");
        UniqueFd other(ends[1]);
        handOverTo_ = toServiceRange(UniqueFd(ends[0]));
        handedOverFrom_ = toServiceRange(std::move(other));
    }
    if (!options.shellJob)
        return;
    if (UniqueFd terminal = copyShellJobTerminal())
        own_ = toServiceRange(std::move(terminal));
}

void OutsideTerminals::requireShellJobTerminal() {
    if (!copyShellJobTerminal())
        failWithoutShellJobTerminal();
}

void failWithoutShellJobTerminal() {
    fail("--shell-job: criu has no terminal that could replace it (start criu restore in a terminal)");
}

void OutsideTerminals::handOver(UniqueFd master) const {
    constexpr std::byte nothing{};
    kernel::sendMessage(handOverTo_.get(), std::span(&nothing, 1), master.get());
}

UniqueFd OutsideTerminals::handedOver() const {
    if (!handedOverFrom_)
        return {};
    std::byte nothing{};
    kernel::ReceivedMessage received = kernel::receiveMessage(handedOverFrom_.get(), std::span(&nothing, 1));
    if (received.lost)
        fail("there was no room for a terminal that was handed over: too many files are open");
    return std::move(received.fd);
}

}  // namespace criu::tty
