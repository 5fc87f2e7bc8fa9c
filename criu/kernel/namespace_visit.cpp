// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/namespace_visit.hpp"

#include <fcntl.h>
#include <linux/sockios.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <exception>
#include <string>
#include <thread>

#include "criu/base/error.hpp"

namespace criu::kernel {
namespace {

/// Back in the namespace when the scope is left.
class Return {
public:
    Return(int target, int flag) : target_(target), flag_(flag) {}
    // It was possible before, with the same rights.
    ~Return() { ::setns(target_, flag_); }
    Return(const Return&) = delete;
    Return& operator=(const Return&) = delete;

private:
    int target_;
    int flag_;
};

}  // namespace

UniqueFd openOwnNamespace(NamespaceKind kind) {
    const std::string path = fmt::format("/proc/thread-self/ns/{}", namespaceName(kind));
    if (kind == NamespaceKind::Net && ::access(path.c_str(), F_OK) != 0) {
        // A process in the midst of its restore may have no /proc.
        const UniqueFd socket(sys(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), "create a socket"));
        return UniqueFd(sys(::ioctl(socket.get(), SIOCGSKNS), "open the network namespace of a socket"));
    }
    return UniqueFd(sys(::open(path.c_str(), O_RDONLY | O_CLOEXEC), "open {}", path));
}

NamespaceVisit::NamespaceVisit(int target, NamespaceKind kind)
    : flag_(namespaceCloneFlag(kind)),
      home_(openOwnNamespace(kind)),
      target_(sys(::fcntl(target, F_DUPFD_CLOEXEC, 0), "copy the descriptor of a namespace")) {
    sys(::setns(target, flag_), "enter a {} namespace", namespaceName(kind));
}

NamespaceVisit::~NamespaceVisit() {
    ::setns(home_.get(), flag_);
}

void NamespaceVisit::atHome(const std::function<void()>& work) const {
    sys(::setns(home_.get(), flag_), "go back to criu's own namespace");
    const Return back(target_.get(), flag_);
    work();
}

void inOwnThread(const std::function<void()>& work) {
    std::exception_ptr failure;
    std::thread worker([&] {
        try {
            work();
        } catch (...) {
            failure = std::current_exception();
        }
    });
    worker.join();
    if (failure)
        std::rethrow_exception(failure);
}

bool isOfOtherNetwork(int fd) {
    const UniqueFd network(::ioctl(fd, SIOCGSKNS));
    struct stat theirs {};
    struct stat ours {};
    return network && ::fstat(network.get(), &theirs) == 0 && ::stat("/proc/thread-self/ns/net", &ours) == 0 &&
           theirs.st_ino != ours.st_ino;
}

}  // namespace criu::kernel
