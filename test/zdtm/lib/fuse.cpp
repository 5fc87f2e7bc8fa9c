// SPDX-License-Identifier: GPL-2.0-only
#include "fuse.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <algorithm>

#include "zdtm.hpp"

namespace zdtm {
namespace {

constexpr std::uint64_t kFileNode = 2;

void send(int server, std::uint64_t unique, int error, const void* data, std::size_t size) {
    fuse_out_header header{};
    header.len = static_cast<std::uint32_t>(sizeof(header) + size);
    header.error = -error;
    header.unique = unique;
    char answer[4096];
    memcpy(answer, &header, sizeof(header));
    if (size != 0) {
        memcpy(answer + sizeof(header), data, size);
    }
    // An interrupted request is nobody's any more.
    if (write(server, answer, header.len) < 0 && errno != ENOENT) {
        fail("serve_fuse", "answer", "%s", strerror(errno));
    }
}

template <typename Answer>
void send(int server, const fuse_in_header& request, const Answer& answer) {
    send(server, request.unique, 0, &answer, sizeof(answer));
}

fuse_attr attributes_of(std::uint64_t node) {
    fuse_attr attributes{};
    attributes.ino = node;
    attributes.mode = node == FUSE_ROOT_ID ? S_IFDIR | 0755 : S_IFREG | 0644;
    attributes.nlink = 1;
    attributes.size = node == FUSE_ROOT_ID ? 0 : sizeof(kFuseContent) - 1;
    return attributes;
}

// Attributes and names are valid for no time at all: each time somebody wants them the kernel asks again.
void answer(int server, const fuse_in_header& request, const char* body) {
    switch (request.opcode) {
        case FUSE_INIT: {
            fuse_init_out out{};
            out.major = FUSE_KERNEL_VERSION;
            out.minor = 31;
            out.max_write = 4096;
            return send(server, request, out);
        }
        case FUSE_LOOKUP: {
            if (strcmp(body, kFuseFile) != 0) {
                return send(server, request.unique, ENOENT, nullptr, 0);
            }
            fuse_entry_out out{};
            out.nodeid = kFileNode;
            out.attr = attributes_of(kFileNode);
            return send(server, request, out);
        }
        case FUSE_GETATTR: {
            fuse_attr_out out{};
            out.attr = attributes_of(request.nodeid);
            return send(server, request, out);
        }
        case FUSE_OPEN:
        case FUSE_OPENDIR:
            return send(server, request, fuse_open_out{});
        case FUSE_READ: {
            fuse_read_in in{};
            memcpy(&in, body, sizeof(in));
            const std::size_t from = std::min<std::size_t>(in.offset, sizeof(kFuseContent) - 1);
            const std::size_t size = std::min<std::size_t>(in.size, sizeof(kFuseContent) - 1 - from);
            return send(server, request.unique, 0, kFuseContent + from, size);
        }
        case FUSE_STATFS:
            return send(server, request, fuse_statfs_out{});
        case FUSE_READDIR:
        case FUSE_RELEASE:
        case FUSE_RELEASEDIR:
        case FUSE_FLUSH:
            return send(server, request.unique, 0, nullptr, 0);
        case FUSE_FORGET:
        case FUSE_BATCH_FORGET:
        case FUSE_INTERRUPT:
            return;
        default:
            return send(server, request.unique, ENOSYS, nullptr, 0);
    }
}

}  // namespace

int mount_fuse(const std::string& path) {
    const int server = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    if (server < 0) {
        skip("/dev/fuse can't be opened: %s", strerror(errno));
    }
    const std::string options = "fd=" + std::to_string(server) + ",rootmode=40000,user_id=0,group_id=0,allow_other";
    if (mount("test", path.c_str(), "fuse", 0, options.c_str()) != 0) {
        skip("no FUSE file system can be mounted: %s", strerror(errno));
    }
    return server;
}

bool serve_fuse(int server, int pause, const std::function<bool(unsigned)>& answers) {
    for (;;) {
        pollfd ask{server, POLLIN, 0};
        if (poll(&ask, 1, pause) <= 0) {
            return true;
        }
        alignas(fuse_in_header) char bytes[FUSE_MIN_READ_BUFFER];
        const ssize_t size = read(server, bytes, sizeof(bytes));
        if (size < 0 && (errno == EINTR || errno == ENOENT || errno == EAGAIN)) {
            continue;
        }
        if (size < static_cast<ssize_t>(sizeof(fuse_in_header))) {
            return false;
        }
        fuse_in_header request{};
        memcpy(&request, bytes, sizeof(request));
        if (!answers || answers(request.opcode)) {
            answer(server, request, bytes + sizeof(request));
        }
        if (answers) {
            return true;
        }
    }
}

}  // namespace zdtm
