// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <netinet/tcp.h>

#include <cstdint>

#include "criu/base/unique_fd.hpp"

/// TCP_REPAIR (<linux/tcp.h>; tcp(7) doesn't describe it). A socket in repair mode sends nothing when it is connected,
/// filled or closed. It shows its queues and sequence numbers.
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
    std::uint32_t pending = 0;  ///< connections of a listener that aren't accepted yet
    std::uint32_t backlog = 0;  ///< backlog of a listener
};

[[nodiscard]] TcpInfo readTcpInfo(int socket);

void enterRepair(int socket);
/// Ends repair mode with a window probe, which the peer answers with its window.
void leaveRepair(int socket);
/// Ends repair mode without a window probe.
void leaveRepairQuietly(int socket);

enum class RepairQueue : int { None = TCP_NO_QUEUE, Receive = TCP_RECV_QUEUE, Send = TCP_SEND_QUEUE };
/// Selects the queue for reading, sending and sequence numbers (TCP_REPAIR_QUEUE).
void chooseQueue(int socket, RepairQueue queue);

/// Scope in which a dumped connection is in repair mode. The destructor ends the mode, unless closeQuietly() was
/// called. If criu is killed, the socket stays in repair mode and sends nothing any more. So the mode should be short.
class TcpRepair {
public:
    /// Takes over `socket`, a copy of the descriptor, and enters repair mode.
    explicit TcpRepair(UniqueFd socket);
    ~TcpRepair();
    TcpRepair(TcpRepair&& other) noexcept = default;
    TcpRepair& operator=(TcpRepair&&) = delete;

    [[nodiscard]] int fd() const noexcept { return socket_.get(); }
    /// Ends repair mode without a packet. The network lock must protect the connection.
    void pause();
    /// Enters repair mode again, if pause() was called.
    void resume();
    /// Closes the copy in repair mode. The kernel then sends nothing to the peer when the process' last descriptor is
    /// closed.
    void closeQuietly() noexcept { socket_.reset(); }

private:
    UniqueFd socket_;
    int reuseAddress_ = 0;  ///< SO_REUSEADDR, which repair mode changes
    bool paused_ = false;
};

}  // namespace criu::sockets
