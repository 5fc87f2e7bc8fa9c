// SPDX-License-Identifier: GPL-2.0-only
// Queues of UDP sockets, in a private network namespace of a child process.
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <optional>
#include <span>

#include <catch2/catch.hpp>

#include "criu/base/log.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/image/arena.hpp"
#include "criu/model/options.hpp"
#include "criu/pie/program_builder.hpp"
#include "criu/sockets/udp_queue.hpp"
#include "image_fixture.hpp"
#include "images/sk-inet.hpp"
#include "images/sk-opts.hpp"

using Catch::Contains;
using namespace criu;
using namespace criu::sockets;

namespace {

/// Sets up the loopback interface of a new network namespace. Returns false if this host forbids it.
bool enterNetwork() {
    if (::unshare(::geteuid() == 0 ? CLONE_NEWNET : CLONE_NEWUSER | CLONE_NEWNET) != 0)
        return false;
    const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq request{};
    std::strcpy(request.ifr_name, "lo");
    request.ifr_flags = IFF_UP;
    return ::ioctl(socket.get(), SIOCSIFFLAGS, &request) == 0;
}

/// Returns the text that `work` returns in a child with a private network namespace; nullopt if the host forbids it.
std::optional<std::string> inNetwork(const std::function<std::string()>& work) {
    constexpr int kForbidden = 9;
    int ends[2];
    sys(::pipe(ends), "make a pipe");
    const pid_t child = ::fork();
    if (child == 0) {
        if (!enterNetwork())
            ::_exit(kForbidden);
        std::string text;
        try {
            text = work();
        } catch (const std::exception& error) {
            text = std::string("error: ") + error.what();
        }
        ::_exit(::write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 1);
    }
    ::close(ends[1]);
    std::string text;
    char part[4096];
    for (ssize_t size = 0; (size = ::read(ends[0], part, sizeof(part))) > 0;)
        text.append(part, static_cast<std::size_t>(size));
    ::close(ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == kForbidden)
        return std::nullopt;
    return text;
}

InetEndpoint at(std::uint32_t address, std::uint16_t port = 0) {
    InetEndpoint end;
    end.words[0] = htonl(address);
    end.port = port;
    return end;
}

UniqueFd bound(const InetEndpoint& where) {
    UniqueFd socket(sys(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), "make a socket"));
    SocketAddress address{};
    const socklen_t length = where.store(address);
    sys(::bind(socket.get(), &address.generic, length), "bind");
    return socket;
}

InetEndpoint endOf(int socket) {
    SocketAddress address{};
    socklen_t length = sizeof(address);
    sys(::getsockname(socket, &address.generic, &length), "read an address");
    return InetEndpoint::fromSocket(address);
}

void give(int from, const InetEndpoint& to, std::string_view text) {
    SocketAddress address{};
    const socklen_t length = to.store(address);
    sys(::sendto(from, text.data(), text.size(), 0, &address.generic, length), "send");
}

/// Returns the datagrams of a queue with the addresses of their senders.
std::string received(int socket) {
    std::string all;
    for (;;) {
        char text[70000];
        SocketAddress from{};
        socklen_t length = sizeof(from);
        const ssize_t size = ::recvfrom(socket, text, sizeof(text), MSG_DONTWAIT, &from.generic, &length);
        if (size < 0)
            return all;
        all += fmt::format("{}={};", InetEndpoint::fromSocket(from).text(),
                           std::string_view(text, static_cast<std::size_t>(size)));
    }
}

/// Makes the system calls of a program in this process, as the process of a dump would.
bool runHere(HostPid /*process*/, std::size_t room,
             const std::function<void(pie::StepList& steps, pie::RemoteData& data)>& compose,
             const std::function<void(pie::RemoteData& data, std::uint64_t steps)>& read) {
    std::vector<std::byte> memory(room + 64);
    const auto base = (reinterpret_cast<std::uint64_t>(memory.data()) + 63) & ~std::uint64_t{63};
    pie::RemoteData data(base);
    pie::StepList steps;
    compose(steps, data);
    const std::uint64_t program = steps.place(data, 0, 0, false);
    const auto copy = std::span(reinterpret_cast<std::byte*>(base), data.bytes().size());
    std::memcpy(copy.data(), data.bytes().data(), copy.size());
    const auto* const head = reinterpret_cast<const pie::Program*>(program);
    for (pie::Step& step : std::span(reinterpret_cast<pie::Step*>(head->steps), head->count)) {
        const long result =
            ::syscall(step.number, step.args[0], step.args[1], step.args[2], step.args[3], step.args[4], step.args[5]);
        step.result = result < 0 ? -errno : result;
    }
    std::memcpy(data.bytes().data(), copy.data(), copy.size());
    read(data, head->steps);
    return true;
}

/// Returns the datagrams that a dump stores, with a room of `room` bytes.
std::string dumped(int socket, std::size_t room) {
    InetSkEntry entry = INET_SK_ENTRY__INIT;
    SkOptsEntry options = SK_OPTS_ENTRY__INIT;
    WaitingQueue queue;
    queue.entry = &entry;
    queue.fd = socket;
    queue.room = room;
    entry.opts = &options;
    Arena arena;
    Log log;
    dumpQueue(queue, runHere, false, arena, log);
    std::string all;
    for (std::size_t i = 0; i < entry.n_datagrams; ++i)
        all += std::string(reinterpret_cast<const char*>(entry.datagrams[i]->data.data), entry.datagrams[i]->data.len) +
               ";";
    return all;
}

/// Socket of images with datagrams in its queue.
class Queue {
public:
    Queue() {
        entry_.family = AF_INET;
        entry_.type = SOCK_DGRAM;
        entry_.proto = IPPROTO_UDP;
    }

    InetDatagram& add(const char* text, std::uint32_t source, std::uint16_t port = 7) {
        InetDatagram& out = *arena_.make<InetDatagram>();
        out.data = arena_.bytes(std::as_bytes(std::span(text, std::strlen(text))));
        out.source = words(source);
        out.n_source = 1;
        out.port = port;
        all_.push_back(&out);
        return out;
    }
    void setDestination(InetDatagram& datagram, std::uint32_t address) {
        datagram.destination = words(address);
        datagram.n_destination = 1;
    }

    /// Fills the queue of the socket, and returns the warnings.
    std::string refill(int socket, std::span<const model::InetMapping> inetMap = {}) {
        entry_.n_datagrams = all_.size();
        entry_.datagrams = all_.data();
        const test::TemporaryDir place;
        Log log;
        log.open(place.path() + "/log");
        const InetEndpoint local = endOf(socket);
        refillQueue(socket, entry_, {local, local, 0, inetMap}, log);
        const UniqueFd file(::open((place.path() + "/log").c_str(), O_RDONLY | O_CLOEXEC));
        char text[4096];
        const ssize_t size = ::read(file.get(), text, sizeof(text));
        return std::string(text, static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    }

private:
    std::uint32_t* words(std::uint32_t address) {
        const std::uint32_t word = htonl(address);
        return arena_.copy(std::span(&word, 1));
    }

    Arena arena_;
    InetSkEntry entry_ = INET_SK_ENTRY__INIT;
    std::vector<InetDatagram*> all_;
};

constexpr std::uint32_t kForeign = 0xc0000207;  // 192.0.2.7
constexpr std::uint32_t kOther = 0xc0000208;    // 192.0.2.8

}  // namespace

/// Defines a result of inNetwork(), and skips the test if the host forbids network namespaces.
#define IN_NETWORK(name, ...)                          \
    const auto name = inNetwork(__VA_ARGS__);          \
    if (!name) {                                       \
        WARN("skipped: no private network namespace"); \
        return;                                        \
    }

TEST_CASE("a datagram that is longer than the queue was is dumped as a whole", "[inet]") {
    const std::string large(5000, 'l');
    IN_NETWORK(all, [&large] {
        const UniqueFd receiver = bound(at(INADDR_LOOPBACK));
        const UniqueFd sender = bound(at(INADDR_LOOPBACK));
        for (const std::string& text : {std::string("one"), large, std::string(), std::string("two"), large})
            give(sender.get(), endOf(receiver.get()), text);
        const std::string first = dumped(receiver.get(), 100);
        const std::string source = endOf(sender.get()).text() + "=";
        const bool kept =
            received(receiver.get()) == fmt::format("{0}one;{0}{1};{0};{0}two;{0}{1};", source, std::string(5000, 'l'));
        return first + (kept ? "kept" : "changed");
    });
    CHECK(*all == "one;" + large + ";;two;" + large + ";kept");
}

TEST_CASE("a queue gets its datagrams, and none of other programs", "[inet]") {
    IN_NETWORK(all, [] {
        const UniqueFd receiver = bound(at(INADDR_LOOPBACK));
        const UniqueFd sender = bound(at(INADDR_LOOPBACK));
        Queue queue;
        queue.add("one", kForeign);
        queue.add("two", kForeign, 8);
        std::string warnings;
        {
            const PassingFilter filter(receiver.get());
            give(sender.get(), endOf(receiver.get()), "of a stranger");
            warnings = queue.refill(receiver.get());
        }
        const std::string first = received(receiver.get());
        give(sender.get(), endOf(receiver.get()), "later");
        return warnings + first + (received(receiver.get()).ends_with("=later;") ? "open" : "shut");
    });
    CHECK(*all == "192.0.2.7:7=one;192.0.2.7:8=two;open");
}

TEST_CASE("the first datagram that doesn't arrive ends the work on a queue", "[inet]") {
    IN_NETWORK(all, [] {
        const UniqueFd receiver = bound(at(INADDR_LOOPBACK));
        Queue queue;
        for (int i = 0; i < 1000; ++i)
            queue.add("lost", kForeign);
        // A connected socket gets only datagrams of its peer.
        SocketAddress peer{};
        const socklen_t length = at(INADDR_LOOPBACK, 9).store(peer);
        sys(::connect(receiver.get(), &peer.generic, length), "connect");
        return queue.refill(receiver.get());
    });
    CHECK_THAT(*all, Contains("1000 of 1000 datagrams") && Contains("a datagram didn't arrive"));
}

TEST_CASE("datagrams of images that would leave the host, or have impossible headers, are lost", "[inet]") {
    IN_NETWORK(all, [] {
        const UniqueFd receiver = bound(at(INADDR_LOOPBACK));
        // bind(2) accepts all addresses with this option.
        const UniqueFd option(::open("/proc/sys/net/ipv4/ip_nonlocal_bind", O_WRONLY | O_CLOEXEC));
        if (::write(option.get(), "1", 1) != 1)
            return std::string("no ip_nonlocal_bind");
        std::string warnings;
        const auto one = [&](const std::function<void(Queue&, InetDatagram&)>& change) {
            Queue queue;
            change(queue, queue.add("no", kForeign));
            warnings += queue.refill(receiver.get());
        };
        one([](Queue& queue, InetDatagram& datagram) { queue.setDestination(datagram, kOther); });
        one([](Queue& queue, InetDatagram& datagram) { queue.setDestination(datagram, 0xe0000001); });
        one([](Queue& queue, InetDatagram& datagram) { queue.setDestination(datagram, INADDR_BROADCAST); });
        one([](Queue&, InetDatagram& datagram) { datagram.has_ttl = 1, datagram.ttl = 256; });
        one([](Queue&, InetDatagram& datagram) { datagram.has_tos = 1, datagram.tos = 256; });
        return warnings + received(receiver.get());
    });
    for (const char* const wanted :
         {"sent to 192.0.2.8,", "sent to 224.0.0.1,", "sent to 255.255.255.255,", "has the TTL 256", "has the TOS 256"})
        CHECK_THAT(*all, Contains(wanted));
    CHECK_THAT(*all, !Contains("=no"));
}

TEST_CASE("--inet-map replaces sources and destinations of datagrams", "[inet]") {
    IN_NETWORK(all, [] {
        const UniqueFd receiver = bound(at(INADDR_ANY));
        const model::InetMapping mappings[] = {{AF_INET, {htonl(kForeign)}, {htonl(kOther)}, 32},
                                               {AF_INET, {htonl(0x0a000001)}, {htonl(0x7f000009)}, 32}};
        Queue queue;
        queue.setDestination(queue.add("one", kForeign), 0x0a000001);
        const int on = 1;
        sys(::setsockopt(receiver.get(), IPPROTO_IP, IP_PKTINFO, &on, sizeof(on)), "set IP_PKTINFO");
        const std::string warnings = queue.refill(receiver.get(), mappings);
        alignas(cmsghdr) char control[256];
        msghdr message{};
        message.msg_control = control;
        message.msg_controllen = sizeof(control);
        sys(::recvmsg(receiver.get(), &message, MSG_DONTWAIT | MSG_PEEK), "receive");
        const cmsghdr* const header = CMSG_FIRSTHDR(&message);
        if (header == nullptr)
            return warnings + "no ancillary data";
        in_pktinfo info{};
        std::memcpy(&info, CMSG_DATA(header), sizeof(info));
        return fmt::format("{}{:x} {}", warnings, ntohl(info.ipi_addr.s_addr), received(receiver.get()));
    });
    CHECK(*all == "7f000009 192.0.2.8:7=one;");
}
