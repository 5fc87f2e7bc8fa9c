// SPDX-License-Identifier: GPL-2.0-only
#include <linux/filter.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/image/arena.hpp"
#include "criu/sockets/fresh_options.hpp"
#include "criu/sockets/inet_options.hpp"
#include "criu/sockets/socket_options.hpp"
#include "criu/sockets/socket_queue.hpp"
#include "image_fixture.hpp"
#include "images/sk-packet.hpp"

using namespace criu;
using namespace criu::sockets;

namespace {

UniqueFd makeSocket(int family, int type) {
    UniqueFd fd(::socket(family, type | SOCK_CLOEXEC, 0));
    REQUIRE(fd);
    return fd;
}

template <typename T>
void set(const UniqueFd& fd, int option, const T& value) {
    INFO("option " << option);
    REQUIRE(::setsockopt(fd.get(), SOL_SOCKET, option, &value, sizeof(value)) == 0);
}

std::vector<std::uint8_t> packed(const SkOptsEntry& entry) {
    std::vector<std::uint8_t> bytes(::sk_opts_entry__get_packed_size(&entry));
    ::sk_opts_entry__pack(&entry, bytes.data());
    return bytes;
}

}  // namespace

TEST_CASE("options of a socket are the same on the one they are restored to") {
    const int family = GENERATE(AF_UNIX, AF_INET, AF_INET6);
    const int type = GENERATE(SOCK_STREAM, SOCK_DGRAM);
    const UniqueFd one = makeSocket(family, type);
    set(one, SO_SNDBUF, 40'000);
    set(one, SO_RCVBUF, 50'000);
    set(one, SO_SNDTIMEO, timeval{1, 500'000});
    set(one, SO_RCVTIMEO, timeval{2, 0});
    set(one, SO_LINGER, linger{1, 9});
    for (const int option : {SO_REUSEADDR, SO_DONTROUTE, SO_NO_CHECK, SO_BROADCAST, SO_KEEPALIVE, SO_OOBINLINE,
                             SO_TIMESTAMP, SO_LOCK_FILTER})
        set(one, option, 1);
    set(one, SO_PRIORITY, 5);
    set(one, SO_RCVLOWAT, 12);
    if (family == AF_UNIX)
        set(one, SO_PASSCRED, 1);

    Arena arena;
    const SkOptsEntry& dumped = *dumpSocketOptions(one.get(), family, arena);
    CHECK(dumped.so_sndbuf == 80'000);
    CHECK(dumped.so_rcvbuf == 100'000);
    CHECK(dumped.so_snd_tmo_sec == 1);
    CHECK(dumped.so_snd_tmo_usec == 500'000);
    CHECK(dumped.so_linger == 9U);
    CHECK(dumped.so_priority == 5U);
    CHECK(dumped.so_rcvlowat == 12U);
    CHECK(dumped.reuseaddr == 1);
    CHECK(dumped.so_keepalive == 1);
    CHECK(dumped.has_so_passcred == (family == AF_UNIX ? 1 : 0));
    CHECK(dumped.has_so_mark == 0);
    CHECK(dumped.n_more == 2);

    Log log;
    const UniqueFd other = makeSocket(family, type);
    restoreSocketOptions(other.get(), dumped, log);
    CHECK(packed(*dumpSocketOptions(other.get(), family, arena)) == packed(dumped));
}

TEST_CASE("a fresh socket has nothing beside what every image has, and is left as it is") {
    const UniqueFd one = makeSocket(AF_UNIX, SOCK_STREAM);
    Arena arena;
    const SkOptsEntry& dumped = *dumpSocketOptions(one.get(), AF_UNIX, arena);
    CHECK(dumped.n_more == 0);
    CHECK(dumped.n_so_filter == 0);
    CHECK(dumped.so_bound_dev == nullptr);
    CHECK(dumped.has_so_linger == 0);
    CHECK((dumped.has_so_buf_lock == 0 || dumped.so_buf_lock == 0));
    Log log;
    restoreSocketOptions(one.get(), dumped, log);
    CHECK(packed(*dumpSocketOptions(one.get(), AF_UNIX, arena)) == packed(dumped));
}

TEST_CASE("an enlarged send buffer gets its size and its freedom back") {
    const UniqueFd one = makeSocket(AF_UNIX, SOCK_STREAM);
    Arena arena;
    const SkOptsEntry& dumped = *dumpSocketOptions(one.get(), AF_UNIX, arena);
    raiseSendBuffer(one.get());
    CHECK(dumpSocketOptions(one.get(), AF_UNIX, arena)->so_sndbuf > dumped.so_sndbuf);
    Log log;
    restoreSocketOptions(one.get(), dumped, log);
    CHECK(packed(*dumpSocketOptions(one.get(), AF_UNIX, arena)) == packed(dumped));
}

TEST_CASE("a restore compares options with those of another new socket") {
    const SocketType type{AF_UNIX, SOCK_STREAM, 0};
    FreshOptions fresh;
    CHECK(fresh.of(1, type).empty());
    const UniqueFd first = makeSocket(AF_UNIX, SOCK_STREAM);
    fresh.learn(1, type, first.get());
    Arena arena;
    const SkOptsEntry& dumped = *dumpSocketOptions(first.get(), AF_UNIX, arena);

    // The restore reads no option of this socket, so it doesn't notice the different value.
    const UniqueFd other = makeSocket(AF_UNIX, SOCK_STREAM);
    set(other, SO_KEEPALIVE, 1);
    Log log;
    restoreSocketOptions(other.get(), dumped, log, nullptr, fresh.of(1, type));
    CHECK(readOption(other.get(), SOL_SOCKET, SO_KEEPALIVE, "SO_KEEPALIVE") == 1);
    restoreSocketOptions(other.get(), dumped, log, nullptr, fresh.of(2, type));
    CHECK(readOption(other.get(), SOL_SOCKET, SO_KEEPALIVE, "SO_KEEPALIVE") == 0);
}

TEST_CASE("options of new sockets omit the options that criu itself changes") {
    FreshOptions fresh;
    const SocketType unixType{AF_UNIX, SOCK_STREAM, 0};
    const SocketType udp{AF_INET, SOCK_DGRAM, IPPROTO_UDP};
    fresh.learn(0, unixType, makeSocket(AF_UNIX, SOCK_STREAM).get());
    fresh.learn(0, udp, makeSocket(AF_INET, SOCK_DGRAM).get());
    for (const SocketType& type : {unixType, udp}) {
        CHECK(findOption(fresh.of(0, type), SOL_SOCKET, SO_KEEPALIVE) == 0);
        CHECK(findOption(fresh.of(0, type), SOL_SOCKET, SO_RCVTIMEO) == 0);
        CHECK_FALSE(findOption(fresh.of(0, type), SOL_SOCKET, SO_SNDBUF));
    }
    CHECK(findOption(fresh.of(0, unixType), SOL_SOCKET, SO_REUSEADDR) == 0);
    for (const int option : {SO_REUSEADDR, SO_REUSEPORT, SO_PRIORITY, SO_RCVBUF})
        CHECK_FALSE(findOption(fresh.of(0, udp), SOL_SOCKET, option));
    CHECK(findOption(fresh.of(0, udp), IPPROTO_IP, IP_TOS) == 0);
    CHECK_FALSE(findOption(fresh.of(0, udp), IPPROTO_IP, IP_FREEBIND));
}

TEST_CASE("a classic filter is carried instruction by instruction") {
    sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0xfffff000), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 1),
                          BPF_STMT(BPF_RET | BPF_K, 0), BPF_STMT(BPF_RET | BPF_K, 0xffffffff)};
    const sock_fprog program{4, code};
    const UniqueFd one = makeSocket(AF_UNIX, SOCK_DGRAM);
    set(one, SO_ATTACH_FILTER, program);
    Arena arena;
    const SkOptsEntry& dumped = *dumpSocketOptions(one.get(), AF_UNIX, arena);
    REQUIRE(dumped.n_so_filter == 4);
    CHECK(dumped.so_filter[0] == (std::uint64_t{BPF_LD | BPF_W | BPF_ABS} << 48 | 0xfffff000));
    CHECK(dumped.so_filter[1] == (std::uint64_t{BPF_JMP | BPF_JEQ | BPF_K} << 48 | std::uint64_t{1} << 32 | 1));
    Log log;
    const UniqueFd other = makeSocket(AF_UNIX, SOCK_DGRAM);
    restoreSocketOptions(other.get(), dumped, log);
    CHECK(packed(*dumpSocketOptions(other.get(), AF_UNIX, arena)) == packed(dumped));
}

TEST_CASE("a filter longer than the kernel allows is refused") {
    std::vector<std::uint64_t> code(BPF_MAXINSNS + 1);
    SkOptsEntry entry = SK_OPTS_ENTRY__INIT;
    entry.so_filter = code.data();
    entry.n_so_filter = code.size();
    Log log;
    const UniqueFd one = makeSocket(AF_UNIX, SOCK_DGRAM);
    CHECK_THROWS_AS(restoreSocketOptions(one.get(), entry, log), Error);
}

namespace {

pid_t endedProcess() {
    const pid_t child = ::fork();
    if (child == 0)
        ::_exit(0);
    REQUIRE(::waitpid(child, nullptr, 0) == child);
    return child;
}

/// Receives a message and returns the credentials of its sender.
ucred senderOf(int socket) {
    std::array<char, 16> data{};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(ucred))> control{};
    iovec vector{data.data(), data.size()};
    msghdr message{};
    message.msg_iov = &vector;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    REQUIRE(::recvmsg(socket, &message, MSG_DONTWAIT) == 4);
    CHECK(std::string(data.data()) == "text");
    const cmsghdr* const header = CMSG_FIRSTHDR(&message);
    REQUIRE(header != nullptr);
    ucred sender{};
    std::memcpy(&sender, CMSG_DATA(header), sizeof(sender));
    return sender;
}

}  // namespace

TEST_CASE("a message whose sender has ended keeps the user of the sender, and gets the pid of criu") {
    if (::geteuid() != 0) {
        WARN("skipped: only root sends messages as another process");
        return;
    }
    constexpr std::uint32_t kUser = 1234;
    const test::TemporaryDir folder;
    const ImageDir images = folder.images();
    SkUcredEntry credentials = SK_UCRED_ENTRY__INIT;
    credentials.uid = credentials.gid = kUser;
    credentials.pid = 7;
    SkPacketEntry entry = SK_PACKET_ENTRY__INIT;
    entry.id_for = 1;
    entry.length = 4;
    entry.ucred = &credentials;
    ImageWriter image = images.create(ImageKind::SkQueues);
    image.write(entry);
    image.payload(test::bytesOf("text"));
    image.finish();
    SocketQueues queues;
    queues.load(images);

    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends) == 0);
    const UniqueFd sending(ends[0]);
    const UniqueFd receiving(ends[1]);
    const int on = 1;
    REQUIRE(::setsockopt(receiving.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) == 0);
    const pid_t ended = endedProcess();
    QueueFiller filler(
        images, [](FileId) { return -1; }, [](UniqueFd fd) { return fd; }, [ended](TreePid) { return ended; });
    filler.send(sending.get(), queues.of(FileId{1}).front());
    const ucred sender = senderOf(receiving.get());
    CHECK(sender.pid == ::getpid());
    CHECK(sender.uid == kUser);
}
