// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <protobuf-c/protobuf-c.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "criu/engine/compare/difference.hpp"
#include "criu/engine/compare/id_relations.hpp"

/// Tables of all fields that aren't simply equal after a restore, each with its reason. A field without a rule must be
/// equal.
namespace criu::engine {

/// Receiver of the findings of a comparison.
class ComparisonSink {
public:
    ComparisonSink() = default;
    virtual ~ComparisonSink() = default;
    ComparisonSink(const ComparisonSink&) = delete;
    ComparisonSink& operator=(const ComparisonSink&) = delete;

    virtual void differs(const Place& place, std::string field, std::string image, std::string tree) = 0;
    /// States that two ids mean the same object, which the sink compares later. Reports a difference if one of them
    /// means another object. `field`: name of the field with the id.
    virtual void relate(IdClass ids, std::uint64_t image, std::uint64_t tree, const Place& place,
                        const std::string& field) = 0;
    /// Returns true if all processes of the tree are stopped (`restore --leave-stopped`).
    [[nodiscard]] virtual bool treeIsStopped() const noexcept = 0;
};

/// Rule for a field.
struct FieldRule {
    enum class Kind : std::uint8_t {
        Id,          ///< an id, which is compared as a relation
        Key,         ///< key of the message in a list; all key fields of a message together find its partner
        OrMinusOne,  ///< equal, or -1 in the tree
        Unchecked,   ///< not compared
    };

    std::string_view message;  ///< name of the message in images/; empty for any message
    std::string_view field;
    Kind kind;
    IdClass ids = IdClass::File;  ///< for Id
    std::string_view text = {};   ///< for Key: noun of the object; for Unchecked: reason
};

/// Rule for fields of a message that are compared together.
struct MessageRule {
    /// Compares two messages of the rule's type. `prefix`: names of the messages around, for ComparisonSink::differs().
    using Compare = void (*)(const ProtobufCMessage& image, const ProtobufCMessage& tree, const Place& place,
                             const std::string& prefix, ComparisonSink& sink);

    std::string_view message;
    std::span<const std::string_view> fields;  ///< fields that `compare` compares
    Compare compare;
};

[[nodiscard]] std::span<const FieldRule> fieldRules() noexcept;
[[nodiscard]] std::span<const MessageRule> messageRules() noexcept;

/// Returns the rule of a field, or null if the field must be equal.
[[nodiscard]] const FieldRule* findRule(std::string_view message, std::string_view field) noexcept;
/// Returns the rule of a message, or null.
[[nodiscard]] const MessageRule* findRule(std::string_view message) noexcept;

}  // namespace criu::engine
