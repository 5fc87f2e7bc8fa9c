// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/task/task_directories.hpp"

#include <catch2/catch.hpp>

#include <memory>
#include <vector>

#include "criu/model/process_tree.hpp"
#include "image_fixture.hpp"
#include "images/core.hpp"

using namespace criu;

namespace {

Record<CoreEntry> coreWithDirectories(std::uint32_t number) {
    ThreadCoreEntry thread = THREAD_CORE_ENTRY__INIT;
    thread.has_fs_id = number != 0 ? 1 : 0;
    thread.fs_id = number;
    CoreEntry core = CORE_ENTRY__INIT;
    core.thread_core = &thread;
    std::string bytes(encodedSize(core.base), '\0');
    ::protobuf_c_message_pack(&core.base, reinterpret_cast<std::uint8_t*>(bytes.data()));
    return decode<CoreEntry>(test::bytesOf(bytes));
}

/// Returns the descriptors for a process whose threads have directories of these numbers; 0: those of the leader.
std::size_t descriptorsFor(const std::vector<std::uint32_t>& numbers) {
    model::ProcessTree tree;
    auto task = std::make_unique<model::Task>();
    task->files = std::make_shared<model::FdTable>();
    for (const std::uint32_t number : numbers)
        task->threads.emplace_back().core = coreWithDirectories(number);
    tree.tasks.push_back(std::move(task));
    return engine::ThreadDirectories::descriptors(tree);
}

}  // namespace

TEST_CASE("each set of directories that threads have apart from their leader needs two descriptors") {
    CHECK(descriptorsFor({0}) == 0);
    CHECK(descriptorsFor({0, 0, 0}) == 0);
    CHECK(descriptorsFor({0, 1}) == 2);
    CHECK(descriptorsFor({0, 1, 2, 1, 0}) == 4);
}
