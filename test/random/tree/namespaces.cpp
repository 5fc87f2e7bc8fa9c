// SPDX-License-Identifier: GPL-2.0-only
// Steps that create namespaces, and objects of namespaces.
#include <fcntl.h>
#include <mqueue.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "builder.hpp"

namespace random_tree {

namespace {

void bring_up_loopback() {
    const int fd = require(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), "socket");
    ifreq request{};
    std::strcpy(request.ifr_name, "lo");
    require(ioctl(fd, SIOCGIFFLAGS, &request), "SIOCGIFFLAGS");
    request.ifr_flags |= IFF_UP;
    require(ioctl(fd, SIOCSIFFLAGS, &request), "SIOCSIFFLAGS");
    close(fd);
}

void enter_new(Builder&, const Step& step) {
    const std::string& which = step.word(1);
    if (which == "uts") {
        require(unshare(CLONE_NEWUTS), "unshare");
        const std::string host = step.text("host", "random");
        require(sethostname(host.data(), host.size()), "sethostname");
    } else if (which == "ipc") {
        require(unshare(CLONE_NEWIPC), "unshare");
    } else if (which == "net") {
        require(unshare(CLONE_NEWNET), "unshare");
        bring_up_loopback();
    } else if (which == "mnt") {
        require(unshare(CLONE_NEWNS), "unshare");
        require(mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), "make mounts private");
    } else if (which == "cgroup") {
        require(unshare(CLONE_NEWCGROUP), "unshare");
    }
}

// Creates a child as init of a new pid namespace.
void child_in_new_pids(Builder& builder, const Step& step) {
    const int home = require(open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC), "open a namespace");
    require(unshare(CLONE_NEWPID), "unshare");
    const pid_t pid = builder.start(std::atoi(step.word(1).c_str()), [&] {
        const pid_t made = fork();
        if (made == 0) {
            close(home);
        }
        return made;
    });
    require(setns(home, CLONE_NEWPID), "setns");
    close(home);
    builder.keep_child(step.word(1), pid);
}

void tmpfs(Builder& builder, const Step& step) {
    const std::string path = builder.path(step.word(1));
    require(mkdir(path.c_str(), 0755), "mkdir");
    require(mount("random", path.c_str(), "tmpfs", 0, "size=1m"), "mount");
    const int fd = require(open((path + "/file").c_str(), O_RDWR | O_CREAT, 0644), "create a file");
    const std::string text = content(static_cast<std::size_t>(step.number("size", 300)), step.number("seed"));
    require(write(fd, text.data(), text.size()), "write");
    builder.keep(step.word(1), fd);
}

void shared_segment(Builder&, const Step& step) {
    const int id = require(shmget(static_cast<key_t>(step.number("key")), 8192, IPC_CREAT | 0640), "shmget");
    void* begin = shmat(id, nullptr, 0);
    if (begin == reinterpret_cast<void*>(-1)) {
        fail_call("shmat");
    }
    fill({static_cast<std::byte*>(begin), 8192}, step.number("seed"));
    require(shmdt(begin), "shmdt");
}

void semaphores(Builder&, const Step& step) {
    const int id = require(semget(static_cast<key_t>(step.number("key")), 3, IPC_CREAT | 0600), "semget");
    sembuf operations[2] = {{0, static_cast<short>(step.number("value", 3)), 0}, {2, 1, 0}};
    if (step.has("undo")) {
        operations[0].sem_flg = SEM_UNDO;
    }
    require(semop(id, operations, 2), "semop");
}

void messages(Builder&, const Step& step) {
    const int id = require(msgget(static_cast<key_t>(step.number("key")), IPC_CREAT | 0600), "msgget");
    struct {
        long type;
        char text[200];
    } message{};
    for (long i = 0; i < step.number("count"); ++i) {
        message.type = i + 1;
        std::memcpy(message.text, content(sizeof message.text, step.number("seed") + i).data(), sizeof message.text);
        require(msgsnd(id, &message, static_cast<std::size_t>(20 + 10 * i), 0), "msgsnd");
    }
}

void posix_queue(Builder& builder, const Step& step) {
    mq_attr attributes{};
    attributes.mq_maxmsg = 5;
    attributes.mq_msgsize = 100;
    const std::string name = "/" + step.word(1);
    const mqd_t queue = require(mq_open(name.c_str(), O_RDWR | O_CREAT | O_NONBLOCK, 0600, &attributes), "mq_open");
    for (long i = 0; i < step.number("count"); ++i) {
        const std::string text = content(static_cast<std::size_t>(30 + i), step.number("seed") + i);
        require(mq_send(queue, text.data(), text.size(), static_cast<unsigned>(i % 3)), "mq_send");
    }
    builder.keep(step.word(1), static_cast<int>(queue));
}

}  // namespace

void add_namespace_kinds(Kinds& kinds) {
    kinds["unshare"] = enter_new;
    kinds["child-in-new-pids"] = child_in_new_pids;
    kinds["tmpfs"] = tmpfs;
    kinds["segment"] = shared_segment;
    kinds["semaphores"] = semaphores;
    kinds["messages"] = messages;
    kinds["posix-queue"] = posix_queue;
}

}  // namespace random_tree
