// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <netinet/tcp.h>

#include <cstdint>

#include "criu/base/unique_fd.hpp"

/// TCP_REPAIR (tcp(7) doesn't have it; <linux/tcp.h>): a socket in repair mode says nothing to its peer when it is
/// connected, filled or closed, and shows its queues and sequence numbers.
namespace criu::sockets {

/// The numbers of TCP's states, in the kernel as in images.
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

/// The socket itself has sent a FIN, or will when what is queued before it is sent.
[[nodiscard]] bool hasSentFin(TcpState state) noexcept;
/// The peer's FIN has been received.
[[nodiscard]] bool hasReceivedFin(TcpState state) noexcept;

struct TcpInfo {
    TcpState state{};
    std::uint8_t options = 0;  ///< TCPI_OPT_…
    std::uint8_t sendScale = 0;
    std::uint8_t receiveScale = 0;
    std::uint32_t pending = 0;  ///< listening: connections that wait to be accepted
    std::uint32_t backlog = 0;  ///< listening: at most so many
};

[[nodiscard]] TcpInfo readTcpInfo(int socket);

void enterRepair(int socket);
/// Ends repair mode with a window probe: the peer answers at once with how much it takes, or not at all.
void leaveRepair(int socket);
/// Ends repair mode without a window probe.
void leaveRepairQuietly(int socket);

enum class RepairQueue : int { None = TCP_NO_QUEUE, Receive = TCP_RECV_QUEUE, Send = TCP_SEND_QUEUE };
/// Which queue reading, sending and sequence numbers refer to (TCP_REPAIR_QUEUE).
void chooseQueue(int socket, RepairQueue queue);

/// A connection in repair mode for the time of a dump. Destruction lets it go on, unless it is to be closed quietly.
class TcpRepair {
public:
    /// Takes over `socket`, a copy of the descriptor.
    explicit TcpRepair(UniqueFd socket);
    ~TcpRepair();
    TcpRepair(TcpRepair&& other) noexcept = default;
    TcpRepair& operator=(TcpRepair&&) = delete;

    [[nodiscard]] int fd() const noexcept { return socket_.get(); }
    /// The process is gone or will be: when the last descriptor is closed, the peer mustn't hear of it.
    void closeQuietly() noexcept { socket_.reset(); }

private:
    UniqueFd socket_;
    int reuseAddress_ = 0;  ///< repair mode uses this flag for itself
};

}  // namespace criu::sockets
