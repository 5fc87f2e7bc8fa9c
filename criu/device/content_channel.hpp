// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>
#include <mutex>
#include <thread>

#include "criu/device/content_mover.hpp"
#include "criu/kernel/fd_store.hpp"
#include "criu/kernel/pass_fd.hpp"

namespace criu::device {

/// A buffer that is to be filled, and from where.
struct ContentRequest {
    std::uint32_t device = 0;  ///< as the driver numbers them
    ContentPlace place;
    std::uint64_t size = 0;
    UniqueFd buffer;
};

/// How restored processes hand buffers to the master, which fills them meanwhile: a pair of sockets that all inherit.
/// Messages are atomic, so any number of processes may send at the same time; and no name is needed that could be in
/// another network namespace.
class ContentChannel {
public:
    /// `stores` opens what contents are in, and is not used by anybody else meanwhile. `stop`: ends copies that are
    /// under way.
    ContentChannel(ContentDriver& driver, LoadedStores& stores, std::uint64_t bufferLimit, StopRequest& stop,
                   const memory::ReadWatch& watch, kernel::FdStore& inherited);
    ~ContentChannel();
    ContentChannel(const ContentChannel&) = delete;
    ContentChannel& operator=(const ContentChannel&) = delete;

    static constexpr std::size_t kDescriptors = 2;

    /// Restored process: hands a buffer over. Returns when it is on its way.
    void send(const ContentRequest& request) const;

    /// Master: begins to receive, in a thread of its own.
    void start();
    /// Master: returns when all that was sent is in its buffers; throws the first failure. Nobody may send any more.
    /// False: it was called before.
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
