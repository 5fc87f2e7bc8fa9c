// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>
#include <mutex>
#include <thread>

#include "criu/device/content_mover.hpp"
#include "criu/kernel/fd_store.hpp"
#include "criu/kernel/pass_fd.hpp"

namespace criu::device {

/// Buffer to fill, and the position of its content in the images.
struct ContentRequest {
    std::uint32_t device = 0;  ///< number that the driver uses for the device
    ContentPlace place;
    std::uint64_t size = 0;
    UniqueFd buffer;
};

/// Socket pair by which restored processes pass buffers to the coordinator. Threads of the coordinator fill the
/// buffers. Messages are atomic, so several processes can send at once. The sockets have no name, so the processes may
/// be in different network namespaces.
class ContentChannel {
public:
    /// `stores`: opens the stores that contain the contents; no other object may use it. `stop`: ends running copies.
    ContentChannel(ContentDriver& driver, LoadedStores& stores, std::uint64_t bufferLimit, StopRequest& stop,
                   const memory::ReadWatch& watch, kernel::FdStore& inherited);
    ~ContentChannel();
    ContentChannel(const ContentChannel&) = delete;
    ContentChannel& operator=(const ContentChannel&) = delete;

    static constexpr std::size_t kDescriptors = 2;

    /// Sends a buffer. Restored processes call this. Returns before the buffer is filled.
    void send(const ContentRequest& request) const;

    /// Starts the receiving thread. The coordinator calls it.
    void start();
    /// Waits until all sent buffers are filled, and throws the first failure. The coordinator calls this when no
    /// process can send any more. Returns false if it was called before.
    bool finish();
    void report(Log& log) const { mover_.report(log); }

private:
    struct Message;
    void serve();
    bool take(const Message& message, kernel::ReceivedMessage received);
    void noteFailure() noexcept;

    LoadedStores& stores_;
    UniqueFd sending_;
    UniqueFd receiving_;
    ContentMover mover_;
    std::thread thread_;
    std::exception_ptr failure_;
    bool finished_ = false;
};

}  // namespace criu::device
