// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/compare/message_comparison.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "criu/engine/compare/field_rules.hpp"
#include "criu/engine/compare/message_fields.hpp"

namespace criu::engine {
namespace {

std::string_view typeOf(const ProtobufCMessage& message) noexcept {
    return message.descriptor->name;
}

/// Returns the noun and the keys of a message in words, such as "fd 3". Empty if its type has no keys.
std::string labelOf(const ProtobufCMessage& message) {
    std::string label;
    for (const MessageField& field : fieldsOf(message)) {
        const FieldRule* const rule = findRule(typeOf(message), field.name);
        if (rule == nullptr || rule->kind != FieldRule::Kind::Key)
            continue;
        label += label.empty() ? rule->text : std::string_view(",");
        label += ' ';
        if (countOf(message, field) == 0)
            label += kAbsent;
        else if (typeOf(message) == "vma_entry")
            fmt::format_to(std::back_inserter(label), "{:#x}", numberOf(field, valueOf(message, field, 0)).value_or(0));
        else if (field.type == PROTOBUF_C_TYPE_STRING)
            label += bytesOf(field, valueOf(message, field, 0));
        else
            label += textOf(field, valueOf(message, field, 0));
    }
    return label;
}

/// Comparison of one pair of messages.
class Pair {
public:
    Pair(const ProtobufCMessage& image, const ProtobufCMessage& tree, const Place& place, const std::string& prefix,
         ComparisonSink& sink)
        : image_(image), tree_(tree), place_(place), prefix_(prefix), sink_(sink) {}

    void compare() {
        const MessageRule* const together = findRule(typeOf(image_));
        if (together != nullptr)
            together->compare(image_, tree_, place_, prefix_, sink_);
        for (const MessageField& field : fieldsOf(image_)) {
            const std::string_view name = field.name;
            if (together != nullptr && std::ranges::find(together->fields, name) != together->fields.end())
                continue;
            const FieldRule* const rule = findRule(typeOf(image_), name);
            if (rule != nullptr && rule->kind == FieldRule::Kind::Unchecked)
                continue;
            if (rule != nullptr && rule->kind == FieldRule::Kind::OrMinusOne &&
                numberOf(field, valueOf(tree_, field, 0)) == ~std::uint64_t{0})
                continue;
            const bool isId = rule != nullptr && rule->kind == FieldRule::Kind::Id;
            compareField(field, isId ? std::optional(rule->ids) : std::nullopt);
        }
    }

private:
    void compareField(const MessageField& field, std::optional<IdClass> ids) {
        const std::size_t before = countOf(image_, field);
        const std::size_t now = countOf(tree_, field);
        if (field.type == PROTOBUF_C_TYPE_MESSAGE) {
            compareNested(field, before, now);
            return;
        }
        for (std::size_t i = 0; i < std::max(before, now); ++i) {
            const void* const one = i < before ? valueOf(image_, field, i) : nullptr;
            const void* const other = i < now ? valueOf(tree_, field, i) : nullptr;
            const std::string name = field.label == PROTOBUF_C_LABEL_REPEATED
                                         ? fmt::format("{}{}[{}]", prefix_, field.name, i)
                                         : prefix_ + field.name;
            if (one == nullptr || other == nullptr)
                sink_.differs(place_, name, one == nullptr ? std::string(kAbsent) : textOf(field, one),
                              other == nullptr ? std::string(kAbsent) : textOf(field, other));
            else if (ids)
                sink_.relate(*ids, numberOf(field, one).value_or(0), numberOf(field, other).value_or(0), place_, name);
            else if (!areEqual(field, one, other))
                compareTexts(field, name, one, other);
        }
    }

    void compareTexts(const MessageField& field, const std::string& name, const void* one, const void* other) {
        if (field.type != PROTOBUF_C_TYPE_BYTES) {
            sink_.differs(place_, name, textOf(field, one), textOf(field, other));
            return;
        }
        const std::string_view before = bytesOf(field, one);
        const std::string_view now = bytesOf(field, other);
        const auto first = std::ranges::mismatch(before, now).in1 - before.begin();
        sink_.differs(place_, fmt::format("{} from byte {}", name, first), textOf(field, one), textOf(field, other));
    }

    void compareNested(const MessageField& field, std::size_t before, std::size_t now) {
        const std::string name = prefix_ + field.name;
        if (field.label == PROTOBUF_C_LABEL_REPEATED) {
            compareLists(listOf(image_, field), listOf(tree_, field), place_, name, sink_);
            return;
        }
        if (before != now)
            sink_.differs(place_, name, std::string(before != 0 ? kPresent : kAbsent),
                          std::string(now != 0 ? kPresent : kAbsent));
        else if (before != 0)
            compareMessages(*messageOf(field, valueOf(image_, field, 0)), *messageOf(field, valueOf(tree_, field, 0)),
                            place_, name + ".", sink_);
    }

    static std::vector<const ProtobufCMessage*> listOf(const ProtobufCMessage& message, const MessageField& field) {
        std::vector<const ProtobufCMessage*> list;
        for (std::size_t i = 0; i < countOf(message, field); ++i)
            list.push_back(messageOf(field, valueOf(message, field, i)));
        return list;
    }

    const ProtobufCMessage& image_;
    const ProtobufCMessage& tree_;
    const Place& place_;
    const std::string& prefix_;
    ComparisonSink& sink_;
};

}  // namespace

void compareMessages(const ProtobufCMessage& image, const ProtobufCMessage& tree, const Place& place,
                     const std::string& prefix, ComparisonSink& sink) {
    Pair(image, tree, place, prefix, sink).compare();
}

void compareLists(std::span<const ProtobufCMessage* const> image, std::span<const ProtobufCMessage* const> tree,
                  const Place& place, const std::string& name, ComparisonSink& sink) {
    // Label of each message of the tree. Messages with equal keys are matched in their order.
    std::multimap<std::string, const ProtobufCMessage*> rest;
    std::size_t number = 0;
    const auto identify = [&](const ProtobufCMessage& message) {
        const std::string label = labelOf(message);
        return label.empty() ? fmt::format("{}[{}]", name, number++) : label;
    };
    std::vector<std::string> order;
    for (const ProtobufCMessage* const each : tree) {
        order.push_back(identify(*each));
        rest.emplace(order.back(), each);
    }
    number = 0;
    for (const ProtobufCMessage* const each : image) {
        const std::string label = identify(*each);
        const bool hasKeys = !label.starts_with(name + "[");
        const auto partner = rest.lower_bound(label);
        if (partner == rest.end() || partner->first != label) {
            sink.differs(place.within(label), "", std::string(kPresent), std::string(kAbsent));
            continue;
        }
        if (hasKeys)
            compareMessages(*each, *partner->second, place.within(label), "", sink);
        else
            compareMessages(*each, *partner->second, place, label + ".", sink);
        rest.erase(partner);
    }
    for (const std::string& label : order) {
        const auto left = rest.lower_bound(label);
        if (left == rest.end() || left->first != label)
            continue;
        sink.differs(place.within(label), "", std::string(kAbsent), std::string(kPresent));
        rest.erase(left);
    }
}

}  // namespace criu::engine
