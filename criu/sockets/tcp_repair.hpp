// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cstdint>

#include "criu/base/unique_fd.hpp"
#include "criu/kernel/net/changed_options.hpp"

namespace criu::kernel {
class PidFd;
class ProcPid;
}  // namespace criu::kernel

/// Repair mode of TCP sockets: TCP_REPAIR of <linux/tcp.h>, which tcp(7) doesn't describe. A socket in repair mode
/// sends no packets at connect(2), send(2) and close(2). Its queues and sequence numbers can be read and set.
namespace criu::sockets {

/// Numbers of TCP states, in the kernel and in images.
enum class TcpState : std::uint8_t {
    Established = 1,
    SynSent = 2,
    SynReceived = 3,
    FinWait1 = 4,
    FinWait2 = 5,
    TimeWait = 6,
    Close = 7,
    CloseWait = 8,
    LastAck = 9,
    Listen = 10,
    Closing = 11,
};

/// True if the socket has sent a FIN, or will send it after its queued data.
[[nodiscard]] bool hasSentFin(TcpState state) noexcept;
/// True if the socket has received the peer's FIN.
[[nodiscard]] bool hasReceivedFin(TcpState state) noexcept;

struct TcpInfo {
    TcpState state{};
    std::uint8_t options = 0;  ///< TCPI_OPT_…
    std::uint8_t sendScale = 0;
    std::uint8_t receiveScale = 0;
    std::uint32_t pending = 0;  ///< number of a listener's connections that accept(2) hasn't returned yet
    std::uint32_t backlog = 0;  ///< backlog that a listener passed to listen(2)
};

[[nodiscard]] TcpInfo readTcpInfo(int socket);

void enterRepair(int socket);
/// Ends repair mode with a window probe. The peer answers the probe with its window. Outside of repair mode, only sends
/// the probe. In both cases, the kernel sets SO_REUSEADDR to 0 (do_tcp_setsockopt()).
void leaveRepair(int socket);
/// Ends repair mode without a window probe.
void leaveRepairQuietly(int socket);

/// Mode in which the kernel resets a connection that is closed (SO_LINGER with no time). If criu is killed, the kernel
/// then drops the queued data, and sends one reset instead of data and a FIN until they arrive. A locked network drops
/// the reset. All functions throw Error.
class ResetIfClosed {
public:
    explicit ResetIfClosed(int socket);
    /// Sets SO_LINGER of the socket as before. Call it in repair mode, in which close(2) sends nothing.
    void end();

private:
    int socket_;
    linger before_{};
};

/// Ends repair mode of the TCP sockets of a process after criu was killed. Returns the number of sockets that were in
/// repair mode. `files`: open directory of the process in /proc. `options`: values that sockets of any kind get
/// again. Throws Error if the process has ended.
unsigned endRepairs(const kernel::PidFd& process, const kernel::ProcPid& files, const kernel::ChangedOptions& options);

enum class RepairQueue : int { None = TCP_NO_QUEUE, Receive = TCP_RECV_QUEUE, Send = TCP_SEND_QUEUE };
/// Selects a queue (TCP_REPAIR_QUEUE). Later recv(2), send(2) and sequence number calls on the socket access this
/// queue.
void chooseQueue(int socket, RepairQueue queue);

/// Scope in which a dumped connection is in repair mode. Keep the scope short: if criu is killed in it, the socket
/// stays in repair mode and never sends again. After closeQuietly(), the destructor leaves the socket in repair mode.
class TcpRepair {
public:
    /// Enters repair mode. `socket`: copy of the process' descriptor; this object closes it.
    explicit TcpRepair(UniqueFd socket);
    ~TcpRepair();
    TcpRepair(TcpRepair&& other) noexcept = default;
    TcpRepair& operator=(TcpRepair&&) = delete;

    [[nodiscard]] int fd() const noexcept { return socket_.get(); }
    /// Ends repair mode for a time. The kernel sends no packet at this. The connection must be under the network lock.
    void pause();
    /// Enters repair mode again after pause(). Does nothing without pause().
    void resume();
    /// Closes criu's copy of the descriptor, and leaves the socket in repair mode. So the kernel sends no packet to the
    /// peer when the process' own descriptors are closed.
    void closeQuietly() noexcept { socket_.reset(); }

private:
    UniqueFd socket_;
    int reuseAddress_ = 0;  ///< dumped value of SO_REUSEADDR, which the kernel changes in repair mode
    bool paused_ = false;
};

}  // namespace criu::sockets
