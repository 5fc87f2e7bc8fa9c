// SPDX-License-Identifier: GPL-2.0-only
#include <catch2/catch.hpp>
#include <string>

#include "criu/model/id_map.hpp"
#include "criu/namespaces/ipc/ipc_messages.hpp"
#include "criu/namespaces/ipc/ipc_semaphores.hpp"
#include "criu/namespaces/ipc/posix_queues.hpp"
#include "image_fixture.hpp"
#include "images/ipc-mqueue.hpp"
#include "images/ipc-msg.hpp"
#include "images/ipc-sem.hpp"

using namespace criu;
using namespace criu::test;
using namespace criu::namespaces;

namespace {

QueuedMessage message(std::int64_t type, std::string_view text) {
    const auto bytes = test::bytesOf(text);
    return {type, {bytes.begin(), bytes.end()}};
}

IpcDescEntry described(std::uint32_t id) {
    IpcDescEntry desc = IPC_DESC_ENTRY__INIT;
    desc.id = id;
    desc.key = 0xfeedbeef;
    desc.mode = 0640;
    desc.cuid = 7;
    return desc;
}

/// Returns an image with one queue that announces `count` messages, without any.
Bytes queueImage(std::uint32_t count) {
    IpcDescEntry desc = described(1);
    IpcMsgEntry head = IPC_MSG_ENTRY__INIT;
    head.desc = &desc;
    head.qnum = count;
    return Bytes::headerOf(ImageKind::IpcMsg).record(head);
}

Bytes& addMessage(Bytes& bytes, std::uint64_t type, std::uint32_t size) {
    IpcMsg entry = IPC_MSG__INIT;
    entry.mtype = type;
    entry.msize = size;
    return bytes.record(entry);
}

std::string refusal(const Bytes& bytes) {
    return errorOf([&] {
        ImageReader reader(bytes.file(), ImageKind::IpcMsg, "queues");
        static_cast<void>(parseMessageQueues(reader));
    });
}

}  // namespace

TEST_CASE("message queues are read back unchanged") {
    const TemporaryDir dir;
    const ImageDir images = dir.images();
    std::vector<MessageQueue> queues(2);
    queues[0] = {described(32768), 4000, {message(1, "12345678"), message(INT64_MAX, ""), message(3, "123456789")}};
    queues[1] = {described(3), 5, {}};
    ImageWriter writer = images.create(ImageKind::IpcMsg, 9);
    writeMessageQueues(writer, queues);
    writer.finish();
    ImageReader reader = images.openRequired(ImageKind::IpcMsg, 9);
    const std::vector<MessageQueue> again = parseMessageQueues(reader);
    REQUIRE(again.size() == 2);
    CHECK(again[0].messages == queues[0].messages);
    CHECK(again[0].bytes() == 17);
    CHECK(again[0].limit == 4000);
    CHECK(again[0].desc.id == 32768);
    CHECK(again[0].desc.key == 0xfeedbeef);
    CHECK(again[0].desc.mode == 0640);
    CHECK(again[0].desc.cuid == 7);
    CHECK(again[1].messages.empty());
}

TEST_CASE("images of message queues that can't be right are refused") {
    Bytes good = queueImage(1);
    addMessage(good, 1, 3).append(std::string_view("abc\0\0\0\0\0", 8));
    CHECK(refusal(good).empty());

    CHECK_FALSE(refusal(queueImage(1)).empty());  // the image ends before the message
    Bytes cut = queueImage(1);
    addMessage(cut, 1, 3).append("abc");
    CHECK_FALSE(refusal(cut).empty());
    Bytes huge = queueImage(1);
    addMessage(huge, 1, UINT32_MAX).append("abc");
    CHECK_FALSE(refusal(huge).empty());
    for (const std::uint64_t type : {std::uint64_t{0}, std::uint64_t{1} << 63}) {
        Bytes wrong = queueImage(1);
        addMessage(wrong, type, 0);
        CHECK_THAT(refusal(wrong), Catch::Contains("has the type"));
    }
    IpcDescEntry desc = described(UINT32_MAX);
    IpcMsgEntry head = IPC_MSG_ENTRY__INIT;
    head.desc = &desc;
    CHECK_THAT(refusal(Bytes::headerOf(ImageKind::IpcMsg).record(head)), Catch::Contains("can't have the id"));
}

TEST_CASE("semaphore sets are read back unchanged, and invalid values are refused") {
    const TemporaryDir dir;
    const ImageDir images = dir.images();
    const auto written = [&](std::vector<SemaphoreSet> sets) {
        ImageWriter writer = images.create(ImageKind::IpcSem, 1);
        writeSemaphoreSets(writer, sets);
        writer.finish();
        ImageReader reader = images.openRequired(ImageKind::IpcSem, 1);
        return parseSemaphoreSets(reader);
    };
    const auto again =
        written({{described(1), {1, 2, 32767}, {}},
                 {described(2), {4, 3, 2, 1}, {{criu::TreePid(7), {3, -5}}, {criu::TreePid(8), {0, 1}}}}});
    REQUIRE(again.size() == 2);
    CHECK(again[0].values == std::vector<std::uint16_t>{1, 2, 32767});
    CHECK(again[1].values == std::vector<std::uint16_t>{4, 3, 2, 1});
    CHECK(again[1].desc.id == 2);
    CHECK(again[0].adjustments.empty());
    CHECK(again[1].adjustments == std::vector<HeldSemUndo>{{criu::TreePid(7), {3, -5}}, {criu::TreePid(8), {0, 1}}});
    CHECK_THAT(errorOf([&] { static_cast<void>(written({{described(1), {32768}, {}}})); }), Catch::Contains("32767"));
    CHECK_THAT(errorOf([&] {
                   static_cast<void>(written({{described(1), {5}, {{criu::TreePid(7), {1, 1}}}}}));
               }),
               Catch::Contains("is adjusted"));
}

namespace {

/// Returns the error for an image of one queue, after `change`.
template <typename Change>
std::string posixRefusal(Change&& change) {
    char name[] = "letters";
    PosixQueueEntry entry = POSIX_QUEUE_ENTRY__INIT;
    entry.name = name;
    entry.mode = 0600;
    entry.max_messages = 10;
    entry.message_size = 100;
    change(entry);
    const Bytes bytes = Bytes::headerOf(ImageKind::IpcMqueue).record(entry);
    return errorOf([&] {
        ImageReader reader(bytes.file(), ImageKind::IpcMqueue, "queues");
        static_cast<void>(parsePosixQueues(reader, {}));
    });
}

}  // namespace

TEST_CASE("POSIX message queues come out of an image as they went in") {
    const auto text = test::bytesOf("a text");
    const std::vector<PosixQueue> queues{
        {"letters", false, 0640, 7, 8, 10, 100, {{32767, {}}, {3, {text.begin(), text.end()}}}},
        {"gone", true, 04600, 0, 0, 1, 1, {}}};
    const TemporaryDir dir;
    const ImageDir images = dir.images();
    ImageWriter image = images.create(ImageKind::IpcMqueue, 3);
    writePosixQueues(image, queues, {});
    image.finish();
    auto reader = images.openRead(ImageKind::IpcMqueue, 3);
    REQUIRE(reader);
    CHECK(parsePosixQueues(*reader, {}) == queues);
}

TEST_CASE("images of POSIX message queues that can't be are refused") {
    CHECK(posixRefusal([](PosixQueueEntry&) {}).empty());
    char path[] = "../letters";
    CHECK(posixRefusal([&](PosixQueueEntry& entry) { entry.name = path; }).find("can't be called") !=
          std::string::npos);
    char nothing[] = "";
    CHECK(posixRefusal([&](PosixQueueEntry& entry) { entry.name = nothing; }).find("can't be called") !=
          std::string::npos);
    CHECK(posixRefusal([](PosixQueueEntry& entry) { entry.max_messages = UINT64_MAX; }).find("can't have") !=
          std::string::npos);
    CHECK(posixRefusal([](PosixQueueEntry& entry) { entry.message_size = UINT64_MAX; }).find("can't have") !=
          std::string::npos);
}
