// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2(from-other,to-other) it forgets who made a queue and how much that may hold
#include <sched.h>
#include <sys/msg.h>

#include <string>

#include "zdtm.hpp"

namespace {

struct Packet {
    long type;
    char text[8192];
};

void send(int queue, long type, const std::string& text) {
    Packet packet{};
    packet.type = type;
    text.copy(packet.text, text.size());
    SYS(msgsnd(queue, &packet, text.size(), IPC_NOWAIT));
}

// Receives the first message of a type (0: any) and requires this content.
void check_next(int queue, long wanted, long type, const std::string& text) {
    Packet packet{};
    const ssize_t size = SYS(msgrcv(queue, &packet, sizeof(packet.text), wanted, IPC_NOWAIT));
    CHECK(packet.type == type, "type %ld, not %ld", packet.type, type);
    CHECK(std::string(packet.text, static_cast<std::size_t>(size)) == text, "%zd other bytes", size);
}

msqid_ds status_of(int queue) {
    msqid_ds status{};
    SYS(msgctl(queue, IPC_STAT, &status));
    return status;
}

void check_same(const ipc_perm& before, const ipc_perm& after) {
    CHECK(before.__key == after.__key, "the key was %x, is %x", before.__key, after.__key);
    CHECK(before.uid == after.uid && before.gid == after.gid, "belongs to %u:%u", after.uid, after.gid);
    CHECK(before.cuid == after.cuid && before.cgid == after.cgid, "made by %u:%u", after.cuid, after.cgid);
    CHECK(before.mode == after.mode, "the mode was %o, is %o", before.mode, after.mode);
}

int queue_of_others(key_t key) {
    SYS(setegid(41));
    SYS(seteuid(42));
    const int queue = SYS(msgget(key, IPC_CREAT | IPC_EXCL | 0622));
    SYS(seteuid(0));
    SYS(setegid(0));
    msqid_ds status = status_of(queue);
    status.msg_perm.uid = 43;
    status.msg_perm.gid = 44;
    status.msg_qbytes = 10000;
    SYS(msgctl(queue, IPC_SET, &status));
    return queue;
}

}  // namespace

ZDTM("message queues: ids, keys, owners, limits, and typed messages in order; a dump leaves the messages in place") {
    SYS(unshare(CLONE_NEWIPC));
    const std::string large(8192, 'l');
    const int gone = SYS(msgget(IPC_PRIVATE, IPC_CREAT | 0600));
    const int full = SYS(msgget(IPC_PRIVATE, IPC_CREAT | 0600));
    SYS(msgctl(gone, IPC_RMID, nullptr));
    // The kernel uses the slot again with a higher sequence number, so the id is large.
    const int again = SYS(msgget(0x1234, IPC_CREAT | 0666));
    const int others = queue_of_others(0x4321);
    CHECK(again > full, "the id %d isn't the second of its place", again);
    send(full, 3, large);
    send(full, 1, "");
    send(full, 3, "again three");
    send(full, 0x7fffffffffffffff, std::string("a\0b", 3));
    send(others, 5, "five");
    const msqid_ds before[] = {status_of(full), status_of(again), status_of(others)};
    me.wait_for_check();

    const int ids[] = {full, again, others};
    for (int i = 0; i < 3; ++i) {
        const msqid_ds after = status_of(ids[i]);
        check_same(before[i].msg_perm, after.msg_perm);
        CHECK(before[i].msg_qbytes == after.msg_qbytes, "may hold %lu, not %lu", after.msg_qbytes,
              before[i].msg_qbytes);
        CHECK(before[i].msg_qnum == after.msg_qnum, "%lu messages, not %lu", after.msg_qnum, before[i].msg_qnum);
    }
    CHECK(SYS(msgget(0x1234, 0)) == again && SYS(msgget(0x4321, 0)) == others, "other ids for the keys");
    check_next(full, 1, 1, "");
    check_next(full, 0, 3, large);
    check_next(full, 0, 3, "again three");
    check_next(full, 0, 0x7fffffffffffffff, std::string("a\0b", 3));
    check_next(others, 0, 5, "five");
    Packet packet{};
    CHECK(msgrcv(full, &packet, sizeof(packet.text), 0, IPC_NOWAIT) < 0 && errno == ENOMSG, "one message too many");
}
