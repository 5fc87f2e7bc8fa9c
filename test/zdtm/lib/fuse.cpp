// SPDX-License-Identifier: GPL-2.0-only
#include "fuse.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <linux/sched.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "zdtm.hpp"

namespace zdtm {
namespace {

constexpr std::uint64_t kFileNode = 2;
constexpr std::uint64_t kOtherNode = 3;
constexpr std::uint64_t kLinkNode = 4;
constexpr std::uint64_t kAwayNode = 5;

// State of the server's process: the other file is deleted.
bool other_is_deleted = false;
// Kind of requests about the deleted file that the server answers with ESTALE; 0 for none.
unsigned forgotten_request = 0;
// Target of the link out of the file system; empty for no link. With a target the files belong to another user and have
// ACLs.
std::string away;

template <typename Answer>
void send(int server, const fuse_in_header& request, const Answer& answer) {
    answer_fuse_request(server, request.unique, 0, &answer, sizeof(answer));
}

fuse_attr attributes_of(std::uint64_t node) {
    fuse_attr attributes{};
    attributes.ino = node;
    const bool is_link = node == kLinkNode || node == kAwayNode;
    attributes.mode = node == FUSE_ROOT_ID ? S_IFDIR | 0755 : is_link ? S_IFLNK | 0777 : S_IFREG | 0644;
    attributes.uid = !away.empty() && (node == kFileNode || node == kOtherNode) ? 1 : 0;
    attributes.nlink = node == kOtherNode && other_is_deleted ? 0 : 1;
    attributes.size = node == FUSE_ROOT_ID ? 0
                      : node == kAwayNode  ? away.size()
                      : is_link            ? sizeof(kFuseFile) - 1
                                           : sizeof(kFuseContent) - 1;
    return attributes;
}

// Returns 0 if there is no such name.
std::uint64_t node_of(const char* name) {
    if (strcmp(name, kFuseFile) == 0) {
        return kFileNode;
    }
    if (strcmp(name, kFuseLink) == 0) {
        return kLinkNode;
    }
    if (strcmp(name, kFuseAway) == 0 && !away.empty()) {
        return kAwayNode;
    }
    return strcmp(name, kFuseOtherFile) == 0 && !other_is_deleted ? kOtherNode : 0;
}

// Answers a request. Attributes and names are valid for zero seconds, so the kernel asks each time.
void answer(int server, const fuse_in_header& request, const char* body) {
    if (request.opcode == forgotten_request && request.nodeid == kOtherNode && other_is_deleted) {
        return answer_fuse_request(server, request.unique, ESTALE, nullptr, 0);
    }
    switch (request.opcode) {
        case FUSE_INIT: {
            fuse_init_out out{};
            out.major = FUSE_KERNEL_VERSION;
            out.minor = 31;
            out.max_write = 4096;
            out.flags = away.empty() ? 0 : FUSE_POSIX_ACL;
            return send(server, request, out);
        }
        case FUSE_LOOKUP: {
            fuse_entry_out out{};
            out.nodeid = node_of(body);
            if (out.nodeid == 0) {
                return answer_fuse_request(server, request.unique, ENOENT, nullptr, 0);
            }
            out.attr = attributes_of(out.nodeid);
            return send(server, request, out);
        }
        case FUSE_UNLINK:
            other_is_deleted = other_is_deleted || node_of(body) == kOtherNode;
            return answer_fuse_request(server, request.unique, 0, nullptr, 0);
        case FUSE_READLINK:
            if (request.nodeid == kAwayNode) {
                return answer_fuse_request(server, request.unique, 0, away.data(), away.size());
            }
            return answer_fuse_request(server, request.unique, 0, kFuseFile, sizeof(kFuseFile) - 1);
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
            return answer_fuse_request(server, request.unique, 0, kFuseContent + from, size);
        }
        case FUSE_GETXATTR:
            return answer_fuse_request(server, request.unique, ENODATA, nullptr, 0);
        case FUSE_STATFS:
            return send(server, request, fuse_statfs_out{});
        case FUSE_READDIR:
        case FUSE_RELEASE:
        case FUSE_RELEASEDIR:
        case FUSE_FLUSH:
            return answer_fuse_request(server, request.unique, 0, nullptr, 0);
        case FUSE_FORGET:
        case FUSE_BATCH_FORGET:
        case FUSE_INTERRUPT:
            return;
        default:
            return answer_fuse_request(server, request.unique, ENOSYS, nullptr, 0);
    }
}

fuse_in_header header_of(const std::vector<char>& bytes) {
    fuse_in_header request{};
    memcpy(&request, bytes.data(), sizeof(request));
    return request;
}

unsigned kind_of(const std::vector<char>& bytes) {
    return header_of(bytes).opcode;
}

void answer(int server, const std::vector<char>& bytes) {
    answer(server, header_of(bytes), bytes.data() + sizeof(fuse_in_header));
}

/// Returns the kind of requests to hold; 0 for none.
unsigned wanted_kind() {
    const int file = open("held", O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return 0;
    }
    char text[16] = {};
    const ssize_t size = read(file, text, sizeof(text) - 1);
    close(file);
    return size > 0 ? static_cast<unsigned>(strtoul(text, nullptr, 10)) : 0;
}

}  // namespace

FuseTaken take_fuse_request(int server, int pause, std::vector<char>& bytes) {
    for (;;) {
        pollfd ask{server, POLLIN, 0};
        if (poll(&ask, 1, pause) <= 0) {
            return FuseTaken::Nothing;
        }
        bytes.resize(FUSE_MIN_READ_BUFFER);
        const ssize_t size = read(server, bytes.data(), bytes.size());
        if (size < 0 && (errno == EINTR || errno == ENOENT || errno == EAGAIN)) {
            continue;
        }
        if (size < static_cast<ssize_t>(sizeof(fuse_in_header))) {
            return FuseTaken::Gone;
        }
        bytes.resize(static_cast<std::size_t>(size));
        return FuseTaken::Request;
    }
}

void answer_fuse_request(int server, std::uint64_t unique, int error, const void* data, std::size_t size) {
    fuse_out_header header{};
    header.len = static_cast<std::uint32_t>(sizeof(header) + size);
    header.error = -error;
    header.unique = unique;
    char answer[4096];
    memcpy(answer, &header, sizeof(header));
    if (size != 0) {
        memcpy(answer + sizeof(header), data, size);
    }
    // The kernel has dropped an interrupted request and returns ENOENT.
    if (write(server, answer, header.len) < 0 && errno != ENOENT) {
        fail("answer_fuse_request", "answer", "%s", strerror(errno));
    }
}

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

void forget_deleted_fuse_file(unsigned request) {
    forgotten_request = request;
}

bool serve_fuse(int server, int pause, const std::function<bool(unsigned)>& answers) {
    for (;;) {
        std::vector<char> bytes;
        switch (take_fuse_request(server, pause, bytes)) {
            case FuseTaken::Nothing:
                return true;
            case FuseTaken::Gone:
                return false;
            case FuseTaken::Request:
                break;
        }
        if (!answers || answers(kind_of(bytes))) {
            answer(server, bytes);
        }
        if (answers) {
            return true;
        }
    }
}

FuseSibling::FuseSibling(int server, Deaf how)
    : state_(
          *reinterpret_cast<std::atomic<int>*>(map(4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS).data())) {
    if (SYS(syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0)) == 0) {
        serve(server, how, state_);
    }
    SYS(close(server));
}

void FuseSibling::serve(int server, Deaf how, std::atomic<int>& state) {
    const auto answers = [&](unsigned) { return state != IsDeaf; };
    while (state != Ending) {
        if (how == Deaf::Unread && state == IsDeaf) {
            usleep(1000);
            continue;
        }
        if (how == Deaf::Unread) {
            serve_fuse(server, 5);
        } else {
            serve_fuse(server, 5, answers);
        }
        int wanted = ToBeDeaf;
        state.compare_exchange_strong(wanted, IsDeaf);
    }
    _exit(0);
}

void FuseSibling::turn_deaf() {
    state_ = ToBeDeaf;
    while (state_ != IsDeaf) {
        usleep(1000);
    }
}

void FuseSibling::answer_again() {
    state_ = Answering;
}

void FuseSibling::end() {
    state_ = Ending;
}

void serve_as_told(int server, const std::atomic<bool>& ending, const std::string& target) {
    away = target;
    std::vector<std::vector<char>> held;
    while (!ending) {
        const unsigned kind = wanted_kind();
        if (!held.empty() && kind_of(held.front()) != kind) {
            for (const std::vector<char>& bytes : held) {
                answer(server, bytes);
            }
            held.clear();
            SYS(unlink("holding"));
        }
        std::vector<char> bytes;
        const FuseTaken taken = take_fuse_request(server, 5, bytes);
        if (taken == FuseTaken::Gone) {
            return;
        }
        if (taken == FuseTaken::Request && kind_of(bytes) != kind) {
            answer(server, bytes);
        } else if (taken == FuseTaken::Request) {
            if (held.empty()) {
                SYS(close(SYS(open("holding", O_WRONLY | O_CREAT | O_CLOEXEC, 0600))));
            }
            held.push_back(bytes);
        }
    }
}

}  // namespace zdtm
