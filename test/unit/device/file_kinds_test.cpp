// SPDX-License-Identifier: GPL-2.0-only
#include <catch2/catch.hpp>

#include <set>

#include "criu/device/subsystem.hpp"
#include "criu/engine/file_kinds.hpp"
#include "criu/kernel/mm/maps.hpp"

using namespace criu;
using engine::FileKind;
using engine::fileKinds;

TEST_CASE("each type of files in images belongs to one kind, which can dump and restore it") {
    std::set<FdTypes> types;
    for (const FileKind& kind : fileKinds()) {
        INFO("type " << kind.type);
        CHECK(kind.startDump != nullptr);
        // A file without a type in images is always refused.
        CHECK((kind.type == FD_TYPES__UND) == (kind.startRestore == nullptr));
        if (kind.type != FD_TYPES__UND)
            CHECK(types.insert(kind.type).second);
    }
}

TEST_CASE("the kind that claims all files with a path comes last") {
    REQUIRE_FALSE(fileKinds().empty());
    CHECK(fileKinds().back().type == FD_TYPES__REG);
}
