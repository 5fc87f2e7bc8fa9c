// SPDX-License-Identifier: GPL-2.0-only
#include <amdgpu_drm.h>
#include <catch2/catch.hpp>

#include "criu/image/arena.hpp"
#include "plugins/amdgpu/client_restore.hpp"
#include "plugins/amdgpu/client_state.hpp"

using namespace criu;
using namespace criu::amdgpu;
using Catch::Contains;

namespace {

/// Image of a render node with two contexts and two synchronization objects.
struct Client {
    Client() {
        image.n_contexts = 2;
        image.contexts = arena.messages<DrmContextEntry>(2);
        image.contexts[0]->number = 2;
        image.contexts[1]->number = 5;
        image.contexts[1]->n_rings = 1;
        image.contexts[1]->rings = arena.messages<DrmRingEntry>(1);
        image.contexts[1]->rings[0]->kind = AMDGPU_HW_IP_COMPUTE;
        image.contexts[1]->rings[0]->submissions = kMostSubmissions;
        image.n_sync_objects = 2;
        image.sync_objects = arena.messages<DrmSyncEntry>(2);
        image.sync_objects[0]->handle = 1;
        image.sync_objects[1]->handle = kEndOfSyncObjects - 1;
    }

    Arena arena;
    CriuRenderNode& image = *arena.make<CriuRenderNode>();
};

}  // namespace

TEST_CASE("amdgpu: images of graphics clients are checked before a restore") {
    Client client;
    CHECK_NOTHROW(validateClient(client.image));

    SECTION("two contexts with one number") {
        client.image.contexts[1]->number = 2;
        CHECK_THROWS_WITH(validateClient(client.image), Contains("context 2 follows context 2"));
    }
    SECTION("a context that no kernel can create") {
        client.image.contexts[1]->number = kEndOfContexts;
        CHECK_THROWS_WITH(validateClient(client.image), Contains("context 4096 follows context 2"));
    }
    SECTION("a submission to a video engine") {
        client.image.contexts[1]->rings[0]->kind = AMDGPU_HW_IP_VCN_DEC;
        CHECK_THROWS_WITH(validateClient(client.image), Contains("submissions to engine 6"));
    }
    SECTION("more submissions than a restore repeats") {
        ++client.image.contexts[1]->rings[0]->submissions;
        CHECK_THROWS_WITH(validateClient(client.image), Contains("context 5 has 16777217 submissions"));
    }
    SECTION("an object without handle") {
        client.image.sync_objects[0]->handle = 0;
        CHECK_THROWS_WITH(validateClient(client.image), Contains("synchronization object 0 follows object 0"));
    }
    SECTION("an object beyond the handles of a dump") {
        client.image.sync_objects[1]->handle = kEndOfSyncObjects;
        CHECK_THROWS_WITH(validateClient(client.image), Contains("synchronization object 256 follows object 1"));
    }
}
