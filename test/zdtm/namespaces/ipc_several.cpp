// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it restores one IPC namespace only
#include <mqueue.h>
#include <sched.h>
#include <sys/msg.h>
#include <sys/sem.h>

#include <string>

#include "sysv_shm.hpp"
#include "zdtm.hpp"

namespace {

constexpr key_t key = 0x55;
constexpr std::size_t size = 300'000;

struct Packet {
    long type = 1;
    char text[64] = {};
};

// Objects of one IPC namespace. Keys and ids are the same in all namespaces.
class Content {
public:
    Content(const std::string& name, unsigned seed) : name_(name), seed_(seed) {
        segment_ = SYS(shmget(key, size, IPC_CREAT | IPC_EXCL | 0600));
        memory_ = zdtm::attach(segment_, size);
        zdtm::fill(memory_, seed);
        queue_ = SYS(msgget(key, IPC_CREAT | IPC_EXCL | 0600));
        Packet packet;
        name.copy(packet.text, sizeof(packet.text) - 1);
        SYS(msgsnd(queue_, &packet, name.size(), 0));
        set_ = SYS(semget(key, 1, IPC_CREAT | IPC_EXCL | 0600));
        add(static_cast<short>(seed), SEM_UNDO);
    }

    void check() const {
        CHECK(SYS(shmget(key, 0, 0)) == segment_, "another segment has the key");
        CHECK(zdtm::first_difference(memory_, seed_) < 0, "the memory of %s changed", name_.c_str());
        const std::span<std::byte> again = zdtm::attach(segment_, size);
        CHECK(zdtm::first_difference(again, seed_) < 0, "another segment than that of %s is attached", name_.c_str());
        SYS(shmdt(again.data()));
        Packet packet;
        const ssize_t length = SYS(msgrcv(queue_, &packet, sizeof(packet.text), 0, IPC_NOWAIT));
        CHECK(std::string(packet.text, static_cast<std::size_t>(length)) == name_, "%s has another message",
              name_.c_str());
        CHECK(value() == static_cast<int>(seed_), "the semaphore of %s is %d", name_.c_str(), value());
    }

    void add(short amount, short flags) const {
        sembuf operation{0, amount, flags};
        SYS(semop(set_, &operation, 1));
    }
    int value() const { return SYS(semctl(set_, 0, GETVAL)); }
    std::span<std::byte> memory() const { return memory_; }

private:
    std::string name_;
    unsigned seed_;
    int segment_;
    std::span<std::byte> memory_;
    int queue_;
    int set_;
};

mqd_t open_queue(int flags) {
    mq_attr limits{};
    limits.mq_maxmsg = 2;
    limits.mq_msgsize = 32;
    return SYS(mq_open("/criu-several", flags, 0600, &limits));
}

}  // namespace

ZDTM("children in private IPC namespaces with the same keys and ids in each") {
    SYS(unshare(CLONE_NEWIPC));
    const Content own("root", 3);
    const pid_t service = me.start_child([&](zdtm::Task& task) {
        SYS(shmdt(own.memory().data()));
        SYS(unshare(CLONE_NEWIPC));
        const Content content("service", 5);
        const mqd_t queue = open_queue(O_CREAT | O_EXCL | O_RDWR);
        SYS(mq_send(queue, "hello", 5, 1));
        SYS(mq_close(queue));
        const pid_t worker = task.start_child([&](zdtm::Task& below) {
            content.add(7, SEM_UNDO);
            below.wait_for_check();
            CHECK(zdtm::first_difference(content.memory(), 5) < 0, "the worker's memory changed");
            content.memory()[0] = std::byte{99};
        });
        task.wait_for_check();
        CHECK(content.value() == 12, "the semaphore is %d", content.value());
        task.finish(worker);
        CHECK(content.memory()[0] == std::byte{99}, "the worker has other memory");
        zdtm::fill(content.memory().first(1), 5);
        content.check();
        const mqd_t again = open_queue(O_RDONLY);
        char text[32];
        CHECK(SYS(mq_receive(again, text, sizeof(text), nullptr)) == 5 && std::string(text, 5) == "hello",
              "another message");
    });
    const pid_t empty = me.start_child([&](zdtm::Task& task) {
        SYS(shmdt(own.memory().data()));
        SYS(unshare(CLONE_NEWIPC));
        task.wait_for_check();
        CHECK(shmget(key, 0, 0) < 0 && errno == ENOENT, "there is shared memory in an empty namespace");
    });
    me.wait_for_check();
    own.check();
    me.finish(service);
    me.finish(empty);
}
