// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>
#include <mutex>
#include <thread>

#include "criu/device/content_mover.hpp"
#include "criu/kernel/fd_store.hpp"
#include "criu/kernel/pass_fd.hpp"

namespace criu::device {

/// A buffer to fill, and the place of its content.
struct ContentRequest {
    std::uint32_t device = 0;  ///< the driver's number
    ContentPlace place;
    std::uint64_t size = 0;
    UniqueFd buffer;
};

/// Socket pair by which restored processes pass buffers to the coordinator, whose threads fill them. Any number of
/// processes may send at once, since messages are atomic. The sockets have no name, so network namespaces don't matter.
class ContentChannel {
public:
    /// `stores` opens stores of contents; only this object uses it. `stop` ends running copies.
    ContentChannel(ContentDriver& driver, LoadedStores& stores, std::uint64_t bufferLimit, StopRequest& stop,
                   const memory::ReadWatch& watch, kernel::FdStore& inherited);
    ~ContentChannel();
    ContentChannel(const ContentChannel&) = delete;
    ContentChannel& operator=(const ContentChannel&) = delete;

    static constexpr std::size_t kDescriptors = 2;

    /// Sends a buffer, in a restored process. Returns before the buffer is filled.
    void send(const ContentRequest& request) const;

    /// Starts the receiving thread, in the coordinator.
    void start();
    /// Waits until all sent buffers are filled, in the coordinator; throws the first failure. No process may send
    /// later. False if it was called before.
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
