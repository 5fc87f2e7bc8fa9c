// SPDX-License-Identifier: LGPL-2.1-only
#include "compel/test/blob/daemon_blob.hpp"

#include <compel/blob/daemon.hpp>

namespace {

namespace blob = compel::blob;

class Commands {
public:
    explicit Commands(std::uint64_t argument) : argument_(argument) {}

    blob::Answer operator()(const blob::Command& command) {
        switch (command.number) {
            case daemonblob::echo:
                return {.result = static_cast<std::int64_t>(command.fds.size()),
                        .payload = command.payload,
                        .fds = command.fds};
            case daemonblob::argument:
                return {.result = static_cast<std::int64_t>(argument_)};
            case daemonblob::writeTo: {
                const int fd = command.takeFd(0);
                const long result = blob::syscall(SYS_write, fd, command.payload.data(), command.payload.size());
                blob::syscall(SYS_close, fd);
                return {.result = result};
            }
            case daemonblob::makePipe: {
                if (ends_[0] >= 0)
                    return {.result = -1};
                const long result = blob::syscall(SYS_pipe2, ends_, 0);
                return {.result = result, .fds = ends_};
            }
            case daemonblob::crash:
                __builtin_trap();
            default:
                return {.result = -1};
        }
    }

    ~Commands() {
        for (const int fd : ends_)
            if (fd >= 0)
                blob::syscall(SYS_close, fd);
    }

private:
    std::uint64_t argument_;
    int ends_[2] = {-1, -1};
};

}  // namespace

extern "C" std::int64_t blob_entry(void* pointer) {
    const auto& daemon = *static_cast<const compel::protocol::DaemonArgument*>(pointer);
    Commands commands(daemon.argument);
    bool gone = false;
    const auto result = blob::serve(daemon, [&](const blob::Command& command) {
        gone = command.number == daemonblob::leave;
        if (gone)
            blob::syscall(SYS_shutdown, daemon.socket, SHUT_RDWR);
        return commands(command);
    });
    return gone ? 17 : result;
}
