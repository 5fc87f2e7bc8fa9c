// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/ipc/sem_undo.hpp"

#include <catch2/catch.hpp>
#include <cerrno>
#include <map>

#include "criu/base/error.hpp"

using criu::Error;
using criu::namespaces::findSemUndo;
using criu::namespaces::operationsFor;
using criu::namespaces::SemUndoValue;

namespace {

/// Semaphores and the undo values of one process, by the rules of semop(2).
struct Semaphores {
    std::vector<std::uint16_t> values;
    std::map<std::uint16_t, int> adjustments;
    std::size_t mostOperations = 500;
    int calls = 0;

    long operate(std::span<const sembuf> operations) {
        ++calls;
        if (operations.size() > mostOperations)
            return -E2BIG;
        auto newValues = values;
        auto newAdjustments = adjustments;
        for (const sembuf& operation : operations) {
            auto& value = newValues.at(operation.sem_num);
            if (operation.sem_op == 0 && value != 0)
                return -EAGAIN;
            if (value + operation.sem_op < 0)
                return -EAGAIN;
            if (value + operation.sem_op > 32767)
                return -ERANGE;
            if ((operation.sem_flg & SEM_UNDO) != 0) {
                int& adjustment = newAdjustments[operation.sem_num];
                adjustment -= operation.sem_op;
                if (adjustment < -32768 || adjustment > 32767)
                    return -ERANGE;
            }
            value = static_cast<std::uint16_t>(value + operation.sem_op);
        }
        values = newValues;
        adjustments = newAdjustments;
        return 0;
    }

    auto find() {
        return findSemUndo(values, [this](std::span<const sembuf> operations) { return operate(operations); });
    }
};

}  // namespace

TEST_CASE("adjustments of semaphores are found without changing anything") {
    for (const std::uint16_t value : std::initializer_list<std::uint16_t>{0, 1, 5, 16384, 32766, 32767}) {
        for (const int amount : {-32768, -32767, -16384, -3, -2, -1, 0, 1, 2, 3, 16384, 32766, 32767}) {
            Semaphores all;
            all.values = {3, value};
            all.adjustments[1] = amount;
            const Semaphores before = all;
            const auto found = all.find();
            INFO("value " << value << ", adjustment " << amount);
            REQUIRE(found);
            if (amount == 0)
                CHECK(found->empty());
            else
                CHECK(*found == std::vector<SemUndoValue>{{1, amount}});
            CHECK(all.values == before.values);
            CHECK(all.adjustments.at(1) == amount);
        }
    }
}

TEST_CASE("many semaphores without adjustments take few calls, and those with some are all found") {
    Semaphores all;
    for (int i = 0; i < 100; ++i)
        all.values.push_back(static_cast<std::uint16_t>(i * 300));
    CHECK(all.find()->empty());
    CHECK(all.calls <= 14);
    all.adjustments = {{0, 1}, {50, -7}, {99, 12}};
    auto found = all.find();
    REQUIRE(found);
    CHECK(*found == std::vector<SemUndoValue>{{0, 1}, {99, 12}, {50, -7}});
}

TEST_CASE("adjustments that can't be asked for") {
    Semaphores all;
    all.values = {1};
    all.mostOperations = 2;
    CHECK_FALSE(all.find());
    CHECK_FALSE(findSemUndo(all.values, [](std::span<const sembuf>) { return -EACCES; }));
    CHECK_THROWS_AS(findSemUndo(all.values, [](std::span<const sembuf>) { return 0; }), Error);
    CHECK_THROWS_AS(findSemUndo(all.values, [](std::span<const sembuf>) { return -EIDRM; }), Error);
}

TEST_CASE("adjustments are given back and values stay") {
    for (const std::uint16_t value : std::initializer_list<std::uint16_t>{0, 1, 20000, 32767}) {
        for (const int amount : {-10000, -1, 1, 12000}) {
            Semaphores all;
            all.values = {value};
            INFO("value " << value << ", adjustment " << amount);
            CHECK(all.operate(operationsFor({0, amount}, value)) == 0);
            CHECK(all.adjustments.at(0) == amount);
            CHECK(all.values.at(0) == value);
        }
    }
    CHECK_THROWS_AS(operationsFor({0, 0}, 1), Error);
    CHECK_THROWS_AS(operationsFor({0, 40000}, 1), Error);
    CHECK_THROWS_AS(operationsFor({0, 20000}, 15000), Error);
}
