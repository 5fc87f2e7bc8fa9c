// SPDX-License-Identifier: GPL-2.0-only
// Passes descriptors of dma-bufs: open, inherited by a child, received over a socket, and in flight. A process that
// imports one after the restore must get the original buffer.
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "gpu/kfd.hpp"
#include "gpu/render.hpp"
#include "gpu/subject.hpp"

namespace {

constexpr std::size_t kSize = 64 * gpu::kPage;
constexpr std::uint64_t kSeed = 4000;
constexpr std::uint64_t kAfter = 5000;

// A message of one byte with room for a descriptor.
struct Letter {
    char byte = 'f';
    iovec data{&byte, 1};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    msghdr message{};

    Letter() {
        message.msg_iov = &data;
        message.msg_iovlen = 1;
        message.msg_control = control.data();
        message.msg_controllen = control.size();
    }
    Letter(const Letter&) = delete;
    Letter& operator=(const Letter&) = delete;
};

void send_fd(int socket, int fd) {
    Letter letter;
    cmsghdr* header = CMSG_FIRSTHDR(&letter.message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &fd, sizeof(fd));
    gpu::expect(sendmsg(socket, &letter.message, 0) == 1, "sendmsg");
}

int receive_fd(int socket) {
    Letter letter;
    gpu::expect(recvmsg(socket, &letter.message, MSG_CMSG_CLOEXEC) == 1 && letter.byte == 'f', "recvmsg");
    const cmsghdr* header = CMSG_FIRSTHDR(&letter.message);
    gpu::expect(header != nullptr && header->cmsg_type == SCM_RIGHTS, "no descriptor came");
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(header), sizeof(fd));
    return fd;
}

// Requires an import of the descriptor by a render node to have this content.
void check_fd(const gpu::Render& render, int fd, std::uint64_t seed, const std::string& what) {
    gpu::Buffer buffer = render.import_fd(fd);
    gpu::expect(buffer.size == kSize, what + " has another size");
    render.map(buffer);
    gpu::check(buffer.bytes, seed, what);
    munmap(buffer.bytes.data(), buffer.bytes.size());
    render.close_handle(buffer.handle);
}

// Runs the other process, which has an inherited descriptor and one from the socket. It gets a third one at the end:
// with `in_flight` that is in the socket during the dump, otherwise it comes later.
int other_process(int inherited, int socket, int commands) {
    try {
        const gpu::Kfd kfd;
        const gpu::Render second(kfd.gpus()[1].render_fd);
        const int received = receive_fd(socket);
        char byte = 'r';
        gpu::expect(write(commands, &byte, 1) == 1, "write");
        gpu::expect(read(commands, &byte, 1) == 1, "read");  // the dump comes here
        check_fd(second, inherited, kAfter, "the inherited dma-buf");
        check_fd(second, received, kAfter + 1, "the dma-buf that was received before");
        check_fd(second, receive_fd(socket), kAfter + 2, "the dma-buf that was received last");
        return write(commands, &byte, 1) == 1 ? 0 : 1;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "the other process: %s\n", error.what());
        return 1;
    }
}

struct Pair {
    int ours = -1;
    int theirs = -1;
};

Pair socket_pair() {
    int ends[2];
    gpu::require(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), "socketpair");
    return {ends[0], ends[1]};
}

class Test {
public:
    explicit Test(bool in_flight) : first_(kfd_.gpus()[0].render_fd) {
        gpu::expect(kfd_.gpus().size() >= 2, "this test wants two GPUs");
        std::array<int, kBuffers> fds{};
        for (std::size_t at = 0; at < kBuffers; ++at) {
            buffers_[at] = first_.create(kSize, at == 1 ? AMDGPU_GEM_DOMAIN_GTT : AMDGPU_GEM_DOMAIN_VRAM);
            first_.map(buffers_[at]);
            first_.map_gpu(buffers_[at], 0x10000000 + at * 0x1000000);
            gpu::fill(buffers_[at].bytes, kSeed + at);
            fds[at] = first_.export_fd(buffers_[at]);
        }
        kept_ = fds[0];
        const Pair passing = socket_pair();
        const Pair commands = socket_pair();
        child_ = gpu::require(fork(), "fork");
        if (child_ == 0) {
            close(passing.ours);
            close(commands.ours);
            _exit(other_process(kept_, passing.theirs, commands.theirs));
        }
        close(passing.theirs);
        close(commands.theirs);
        commands_ = commands.ours;
        passing_ = passing.ours;
        send_fd(passing_, fds[1]);
        expect_answer();
        close(fds[1]);
        last_ = fds[2];
        if (in_flight) {
            send_last();
        }
    }

    void verify() {
        for (std::size_t at = 0; at < kBuffers; ++at) {
            gpu::check(buffers_[at].bytes, kSeed + at, "buffer " + std::to_string(at));
            gpu::fill(buffers_[at].bytes, kAfter + at);
        }
        check_fd(first_, kept_, kAfter, "the dma-buf that was kept");
        if (last_ >= 0) {
            send_last();
        }
        char byte = 'v';
        gpu::expect(write(commands_, &byte, 1) == 1, "write");
        expect_answer();
        int status = 0;
        gpu::expect(waitpid(child_, &status, 0) == child_ && status == 0, "the other process ended badly");
    }

private:
    static constexpr std::size_t kBuffers = 3;

    void send_last() {
        send_fd(passing_, last_);
        close(std::exchange(last_, -1));
    }

    void expect_answer() const {
        char byte = 0;
        gpu::expect(read(commands_, &byte, 1) == 1, "the other process has failed, see the program's output");
    }

    gpu::Kfd kfd_;
    gpu::Render first_;
    std::array<gpu::Buffer, kBuffers> buffers_;
    int kept_ = -1;
    int last_ = -1;
    int passing_ = -1;
    int commands_ = -1;
    pid_t child_ = -1;
};

}  // namespace

namespace gpu {

void pass_dmabufs(Subject& subject, bool in_flight) {
    Test test(in_flight);
    subject.wait([] {});
    test.verify();
}

}  // namespace gpu
