// SPDX-License-Identifier: GPL-2.0-only
#include "criu/image/image_streamer.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "criu/base/byte_stream.hpp"
#include "criu/base/error.hpp"
#include "criu/base/ready_wait.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/base/whole_io.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/image/record.hpp"
#include "criu/kernel/file_rights.hpp"
#include "criu/kernel/pass_fd.hpp"
#include "images/img-streamer.hpp"

namespace criu {
namespace {

constexpr const char* kCaptureSocket = "streamer-capture.sock";
constexpr const char* kServeSocket = "streamer-serve.sock";
constexpr std::chrono::milliseconds kBetween{20};

std::optional<std::chrono::milliseconds> limitOf(const StreamerConnection& connection) {
    return connection.patience.count() > 0 ? std::optional<std::chrono::milliseconds>(connection.patience)
                                           : std::nullopt;
}

/// Waits for a condition that poll(2) can't report, by short sleeps. wait() returns false if the connection's timeout
/// has expired.
class Patience {
public:
    explicit Patience(const StreamerConnection& connection) : connection_(connection) {}
    [[nodiscard]] bool wait() {
        connection_.stop.throwIfRequested();
        waited_ += kBetween;
        ::usleep(std::chrono::microseconds(kBetween).count());
        return connection_.patience.count() == 0 || waited_ < connection_.patience;
    }

private:
    const StreamerConnection& connection_;
    std::chrono::milliseconds waited_{0};
};

UniqueFd connectTo(const ImageDir& images, const char* name, const StreamerConnection& connection) {
    const auto rights = images.takeRights();
    UniqueFd socket(sys(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), "make a socket"));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    fmt::format_to_n(address.sun_path, sizeof(address.sun_path) - 1, "/proc/self/fd/{}/{}", images.fd(), name);
    Patience patience(connection);
    while (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
        if (errno == EAGAIN && patience.wait())
            continue;  // the streamer's socket has too many pending connections
        Error error(errno, fmt::format("connect to the image streamer at {}/{}", images.name(), name));
        error.addHint("criu-image-streamer has to be started before criu --stream");
        throw error;
    }
    return socket;
}

std::pair<UniqueFd, UniqueFd> makePipe() {
    int ends[2];
    sys(::pipe2(ends, O_CLOEXEC), "make a pipe");
    return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

/// Connection for messages between criu and the image streamer.
class Conversation {
public:
    Conversation(UniqueFd connected, const StreamerConnection& how) : connection(how), socket(std::move(connected)) {}

    void request(const std::string& name) const {
        ImgStreamerRequestEntry entry = IMG_STREAMER_REQUEST_ENTRY__INIT;
        std::string text = name;
        entry.filename = text.data();
        const auto size = static_cast<std::uint32_t>(encodedSize(entry.base));
        std::vector<std::byte> bytes(sizeof(size) + size);
        std::copy_n(reinterpret_cast<const std::byte*>(&size), sizeof(size), bytes.data());
        ::protobuf_c_message_pack(&entry.base, reinterpret_cast<std::uint8_t*>(bytes.data() + sizeof(size)));
        // If poll(2) reports POLLOUT, the kernel accepts such a small message completely.
        await(POLLOUT);
        kernel::sendMessage(socket.get(), bytes, -1);
    }

    [[nodiscard]] bool exists() const {
        constexpr std::uint32_t kMost = 4096;
        std::uint32_t size = 0;
        receive(std::as_writable_bytes(std::span(&size, 1)));
        if (size > kMost)
            fail("the image streamer answers with {} bytes", size);
        std::vector<std::byte> bytes(size);
        receive(bytes);
        return decode<ImgStreamerReplyEntry>(bytes)->exists != 0;
    }

    /// Sends one end of a pipe to the streamer (SCM_RIGHTS).
    void pass(UniqueFd end) const {
        const std::byte mark{};
        await(POLLOUT);
        kernel::sendMessage(socket.get(), {&mark, 1}, end.get());
    }

    [[nodiscard]] bool isAlive() const noexcept {
        pollfd looking{socket.get(), 0, 0};
        return ::poll(&looking, 1, 0) == 0;
    }

    const StreamerConnection connection;
    UniqueFd socket;

private:
    void await(short events) const {
        if (!waitReady(socket.get(), events, connection.stop, limitOf(connection)))
            failWith(ETIMEDOUT, "the image streamer does nothing for {} s (--timeout)", connection.patience.count());
    }

    void receive(std::span<std::byte> into) const {
        while (!into.empty()) {
            await(POLLIN);
            const ssize_t got = ::recv(socket.get(), into.data(), into.size(), MSG_DONTWAIT);
            if (got == 0)
                fail("the image streamer has gone");
            if (got < 0 && errno != EAGAIN && errno != EINTR)
                failErrno("listen to the image streamer");
            if (got > 0)
                into = into.subspan(static_cast<std::size_t>(got));
        }
    }
};

}  // namespace

class StreamerOutlet::Link {
public:
    Link(UniqueFd socket, const StreamerConnection& connection) : talk(std::move(socket), connection) {}
    std::mutex turn;
    Conversation talk;
    std::list<ByteStream> written;  ///< pipes that may contain bytes that the streamer hasn't read
};

class StreamerOutlet::Pipe final : public ImageOutlet::File {
public:
    Pipe(Link& link, ByteStream pipe) : link_(link), pipe_(std::move(pipe)) {}

    void write(std::uint64_t offset, std::span<const std::byte> bytes) override {
        fillTo(offset);
        pipe_.write(bytes);
        end_ += bytes.size();
    }

    void finish(std::uint64_t size) override {
        fillTo(size);
        if (pipe_.isDrained())
            return pipe_.close();
        const std::lock_guard lock(link_.turn);
        link_.written.remove_if([](const ByteStream& pipe) { return pipe.isDrained(); });
        link_.written.push_back(std::move(pipe_));
    }

private:
    void fillTo(std::uint64_t offset) {
        constexpr std::size_t kZeroes = std::size_t{64} << 10;
        if (offset < end_)
            fail("{} is written out of order", pipe_.name());
        const std::vector<std::byte> zeroes(std::min<std::uint64_t>(kZeroes, offset - end_));
        while (end_ < offset) {
            const auto piece = std::span(zeroes).first(std::min<std::uint64_t>(zeroes.size(), offset - end_));
            pipe_.write(piece);
            end_ += piece.size();
        }
    }

    Link& link_;
    ByteStream pipe_;
    std::uint64_t end_ = 0;
};

StreamerOutlet::StreamerOutlet(const ImageDir& images, const StreamerConnection& connection)
    : link_(std::make_unique<Link>(connectTo(images, kCaptureSocket, connection), connection)) {}

StreamerOutlet::~StreamerOutlet() = default;

std::unique_ptr<ImageOutlet::File> StreamerOutlet::create(const std::string& name) {
    auto [reading, writing] = makePipe();
    const std::lock_guard lock(link_->turn);
    link_->talk.request(name);
    link_->talk.pass(std::move(reading));
    const StreamerConnection& connection = link_->talk.connection;
    return std::make_unique<Pipe>(
        *link_, ByteStream(std::move(writing), connection.stop, connection.patience, "the image streamer's " + name));
}

/// Waits until the streamer has read all pipes. The protocol has no acknowledgement. So criu checks that the pipes are
/// empty, and that the streamer still runs.
void StreamerOutlet::finish() {
    Patience patience(link_->talk.connection);
    for (ByteStream& pipe : link_->written) {
        while (!pipe.isDrained()) {
            if (!link_->talk.isAlive())
                fail("the image streamer has gone before it had taken all images");
            if (!patience.wait())
                failWith(ETIMEDOUT, "{} isn't taken (--timeout)", pipe.name());
        }
        pipe.close();
    }
    if (!link_->talk.isAlive())
        fail("the image streamer has gone before the dump was complete");
    link_->talk.socket.reset();
}

class StreamerSupply::Link {
public:
    Link(UniqueFd socket, const StreamerConnection& connection) : talk(std::move(socket), connection) {}
    Conversation talk;
};

StreamerSupply::StreamerSupply(const ImageDir& images, const StreamerConnection& connection)
    : link_(std::make_unique<Link>(connectTo(images, kServeSocket, connection), connection)) {}

StreamerSupply::~StreamerSupply() = default;

UniqueFd StreamerSupply::takeSocket() {
    return std::move(link_->talk.socket);
}

void StreamerSupply::setSocket(UniqueFd socket) {
    link_->talk.socket = std::move(socket);
}

void StreamerSupply::close() noexcept {
    link_->talk.socket.reset();
}

void StreamerSupply::fetch(const std::string& name) const {
    if (!link_->talk.socket)
        return;
    const ProcessLock::Held turn(turn_);
    // EACCES means that this process is in a user namespace and may not search the directory. criu fetches the files
    // for such a process earlier.
    if (::faccessat(into_->fd(), name.c_str(), F_OK, 0) == 0 || errno == EACCES)
        return;
    const ErrorContext context([&] { return name; });
    link_->talk.request(name);
    if (!link_->talk.exists())
        return;
    auto [reading, writing] = makePipe();
    link_->talk.pass(std::move(writing));
    receive(std::move(reading), name);
}

void StreamerSupply::receive(UniqueFd pipe, const std::string& name) const {
    constexpr std::size_t kBuffer = std::size_t{1} << 20;
    const StreamerConnection& connection = link_->talk.connection;
    ByteStream in(std::move(pipe), connection.stop, connection.patience, "the image streamer's " + name);
    UniqueFd file = into_->createNamed(name);
    std::vector<std::byte> buffer(kBuffer);
    for (std::uint64_t end = 0;;) {
        const std::size_t got = in.read(buffer);
        writeAt(file.get(), std::span(buffer).first(got), end);
        end += got;
        if (got < buffer.size())
            break;
    }
    // The pipe also ends if the streamer has died. So the file is complete only if the streamer still runs.
    if (!link_->talk.isAlive())
        fail("the image streamer has gone, so the file may be incomplete");
    closeWritten(std::move(file), name);
}

}  // namespace criu
