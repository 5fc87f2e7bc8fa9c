// SPDX-License-Identifier: GPL-2.0-only
#include "criu/options/request.hpp"

#include <cstring>

namespace criu::options {
namespace {

void readOrphanMasters(model::Options& options, const Request& request) {
    if (request.opts.has_orphan_pts_master != 0)
        options.orphanPtsMaster = request.opts.orphan_pts_master != 0;
}

constexpr RequestOnly kRequestOnly[] = {
    {"notify_scripts", "the client is told of the stages of the run"},
    {"orphan_pts_master", "the client takes masters of terminals that no process of the tree has", readOrphanMasters},
    {"pidfd_store_sk", "a socket of the client that carries pidfds from one pre-dump to the next"},
    {"status_fd", "a descriptor of the client for the byte that says that a server is ready; obsolete"},
};

const ProtobufCFieldDescriptor& fieldNamed(std::string_view name) {
    const ProtobufCFieldDescriptor* const field =
        ::protobuf_c_message_descriptor_get_field_by_name(&criu_opts__descriptor, std::string(name).c_str());
    if (field == nullptr)
        fail("criu_opts has no field {}", name);
    return *field;
}

/// Returns the member of a message at an offset, which comes from a field descriptor.
template <typename T>
T memberAt(const ProtobufCMessage& message, std::size_t offset) noexcept {
    T value;
    std::memcpy(&value, reinterpret_cast<const char*>(&message) + offset, sizeof(value));
    return value;
}

/// Returns true if a message contains a field. An empty text counts as missing.
bool isPresent(const ProtobufCMessage& message, const ProtobufCFieldDescriptor& field) noexcept {
    if (field.label == PROTOBUF_C_LABEL_REQUIRED)
        return true;
    if (field.label == PROTOBUF_C_LABEL_REPEATED)
        return memberAt<std::size_t>(message, field.quantifier_offset) != 0;
    if (field.type == PROTOBUF_C_TYPE_STRING) {
        const char* const text = memberAt<const char*>(message, field.offset);
        return text != nullptr && *text != '\0';
    }
    if (field.type == PROTOBUF_C_TYPE_MESSAGE)
        return memberAt<const void*>(message, field.offset) != nullptr;
    return memberAt<protobuf_c_boolean>(message, field.quantifier_offset) != 0;
}

/// Returns the settings of a field, in the form NAME or no-NAME as on the command line.
std::vector<Setting> settingsIn(const ProtobufCMessage& message, const ProtobufCFieldDescriptor& field,
                                const OptionRow& row) {
    const Origin origin{fmt::format("criu_opts.{}", field.name), 0};
    switch (field.type) {
        case PROTOBUF_C_TYPE_BOOL:
            return {{&row, memberAt<protobuf_c_boolean>(message, field.offset) == 0, {}, origin}};
        case PROTOBUF_C_TYPE_INT32:
            return {{&row, false, std::to_string(memberAt<std::int32_t>(message, field.offset)), origin}};
        case PROTOBUF_C_TYPE_UINT32:
            return {{&row, false, std::to_string(memberAt<std::uint32_t>(message, field.offset)), origin}};
        case PROTOBUF_C_TYPE_UINT64:
            return {{&row, false, std::to_string(memberAt<std::uint64_t>(message, field.offset)), origin}};
        case PROTOBUF_C_TYPE_STRING: {
            if (field.label != PROTOBUF_C_LABEL_REPEATED)
                return {{&row, false, memberAt<const char*>(message, field.offset), origin}};
            std::vector<Setting> settings;
            const char* const* const texts = memberAt<const char* const*>(message, field.offset);
            for (std::size_t i = 0; i < memberAt<std::size_t>(message, field.quantifier_offset); ++i)
                settings.push_back({&row, false, texts[i], origin});
            return settings;
        }
        default:
            fail("criu_opts.{} is of a type that can't be written as an argument of --{}", field.name, row.name);
    }
}

/// Returns a setting without value if the message contains a field that a function reads (RequestPart::read()).
std::vector<Setting> mentionsOf(const ProtobufCMessage& message, const OptionRow& row) {
    for (const std::string_view name : row.request.fields())
        if (!name.empty() && isPresent(message, fieldNamed(name)))
            return {{&row, false, {}, {fmt::format("criu_opts.{}", name), 0}}};
    return {};
}

}  // namespace

std::span<const RequestOnly> requestOnlyFields() noexcept {
    return kRequestOnly;
}

std::vector<Setting> applyRequest(const Request& request, model::Options& options) {
    std::vector<Setting> all;
    for (const OptionRow& row : optionTable()) {
        const std::string_view name = row.request.fields().front();
        if (name.empty())
            continue;
        std::vector<Setting> settings;
        if (row.request.read() != nullptr) {
            const ErrorContext context([&] { return fmt::format("criu_opts.{}", name); });
            settings = mentionsOf(request.opts.base, row);
            row.request.read()(options, request);
        } else if (const ProtobufCFieldDescriptor& field = fieldNamed(name); isPresent(request.opts.base, field)) {
            settings = settingsIn(request.opts.base, field, row);
            applySettings(settings, options);
        }
        all.insert(all.end(), std::make_move_iterator(settings.begin()), std::make_move_iterator(settings.end()));
    }
    for (const RequestOnly& only : kRequestOnly)
        if (only.read != nullptr)
            only.read(options, request);
    return all;
}

}  // namespace criu::options
