// SPDX-License-Identifier: GPL-2.0-only
/*
 * Packets of simulated engines and queues, by their documented layouts. SDMA has copy, write, fill, fence, atomic add
 * and trap. PM4 has write data, atomic add and release memory. AQL has barriers. There are no shaders.
 */
#include <uapi/drm/amdgpu_drm.h>

#include "sim.h"

#define ATOMIC_ADD_32 0x0fu
#define ATOMIC_ADD_64 0x2fu

enum { SDMA_NOP = 0, SDMA_COPY = 1, SDMA_WRITE = 2, SDMA_FENCE = 5, SDMA_TRAP = 6, SDMA_ATOMIC = 10, SDMA_FILL = 11 };
enum { PM4_NOP = 0x10, PM4_ATOMIC = 0x1e, PM4_WRITE_DATA = 0x37, PM4_RELEASE_MEM = 0x49 };
enum { AQL_INVALID = 1, AQL_BARRIER_AND = 3, AQL_BARRIER_OR = 5 };

static u64 pair(const u32* words) {
    return words[0] | (u64)words[1] << 32;
}

/* Copy and fill packets contain bytes - 1 from GFX9 on, and bytes on older GPUs. */
static u64 byte_count(u32 field) {
    return sim_family >= AMDGPU_FAMILY_AI && !sim_plain_counts ? (u64)field + 1 : field;
}

static int add_atomically(struct sim_view* view, u32 operation, u64 address, u64 value) {
    u64 old = 0;
    u32 size = operation == ATOMIC_ADD_64 ? 8 : 4;
    int result;

    if ((operation != ATOMIC_ADD_64 && operation != ATOMIC_ADD_32) || address % size) {
        return -EINVAL;
    }
    result = sim_read(view, address, &old, size);
    if (result) {
        return result;
    }
    old += value;
    return sim_write(view, address, &old, size);
}

static int fill(struct sim_view* view, u64 address, u32 value, u64 bytes) {
    u32 block[256];
    unsigned int i;
    int result = 0;

    for (i = 0; i < ARRAY_SIZE(block); i++) {
        block[i] = value;
    }
    while (bytes && !result) {
        u64 step = min_t(u64, bytes, sizeof(block));

        result = sim_write(view, address, block, step);
        address += step;
        bytes -= step;
    }
    return result;
}

/* Executes one packet. `dwords` of the result is 0 if the packet is unknown, or longer than `available`. */
struct sim_packet_result sim_sdma_packet(struct sim_view* view, const u32* packet, u32 available) {
    u32 operation = packet[0] & 0xff, sub = packet[0] >> 8 & 0xff;
    struct sim_packet_result result = {.interrupt = SIM_INTERRUPT_NONE};
    u64 bytes;

    switch (operation) {
        case SDMA_NOP:
            result.dwords = 1 + (packet[0] >> 16 & 0x3fff);
            break;
        case SDMA_COPY:
            result.dwords = sub == 0 ? 7 : 0;
            if (result.dwords && available >= 7) {
                bytes = byte_count(packet[1] & 0x3fffff);
                /* Only submissions have a list of buffers. */
                result.error =
                    sim_free_copies && view->resident ? 0 : sim_copy(view, pair(packet + 5), pair(packet + 3), bytes);
                result.copied = bytes;
            }
            break;
        case SDMA_WRITE:
            if (sub == 0 && available >= 4) {
                u32 count = (packet[3] & 0xfffff) + (sim_family >= AMDGPU_FAMILY_AI ? 1 : 0);

                result.dwords = 4 + count;
                if (available >= result.dwords) {
                    result.error = sim_write(view, pair(packet + 1), packet + 4, count * 4ull);
                }
            }
            break;
        case SDMA_FENCE:
            result.dwords = 4;
            if (available >= 4) {
                result.error = sim_write(view, pair(packet + 1), packet + 3, 4);
            }
            break;
        case SDMA_TRAP:
            result.dwords = 2;
            if (available >= 2) {
                result.interrupt = packet[1] & 0xfffffff;
            }
            break;
        case SDMA_ATOMIC:
            result.dwords = 8;
            if (available >= 8) {
                result.error = add_atomically(view, packet[0] >> 25, pair(packet + 1), pair(packet + 3));
            }
            break;
        case SDMA_FILL:
            result.dwords = 5;
            if (available >= 5) {
                result.error = fill(view, pair(packet + 1), packet[3], byte_count(packet[4] & 0x3fffff));
            }
            break;
        default:
            break;
    }
    if (result.dwords > available) {
        result.dwords = 0;
    }
    return result;
}

struct sim_packet_result sim_pm4_packet(struct sim_view* view, const u32* packet, u32 available) {
    u32 count = packet[0] >> 16 & 0x3fff, operation = packet[0] >> 8 & 0xff;
    struct sim_packet_result result = {.interrupt = SIM_INTERRUPT_NONE};

    if (packet[0] >> 30 == 2) { /* type 2: one dword of filling */
        result.dwords = 1;
        return result;
    }
    if (packet[0] >> 30 != 3) {
        return result;
    }
    result.dwords = operation == PM4_NOP && count == 0x3fff ? 1 : count + 2;
    if (result.dwords > available) {
        result.dwords = 0;
        return result;
    }
    switch (operation) {
        case PM4_NOP:
            break;
        case PM4_WRITE_DATA:
            if (count < 3 || (packet[1] >> 8 & 0xf) != 5) { /* destination: memory */
                result.error = -EINVAL;
                break;
            }
            result.error = sim_write(view, pair(packet + 2), packet + 4, (count - 2) * 4ull);
            break;
        case PM4_ATOMIC:
            result.error =
                count < 7 ? -EINVAL : add_atomically(view, packet[1] & 0x7f, pair(packet + 2), pair(packet + 4));
            break;
        case PM4_RELEASE_MEM: {
            u32 data = packet[2] >> 29, interrupt = packet[2] >> 24 & 7;

            if (count < 6) {
                result.error = -EINVAL;
                break;
            }
            if (data == 1 || data == 2) { /* 32 or 64 bits of data */
                result.error = sim_write(view, pair(packet + 3), packet + 5, data == 1 ? 4 : 8);
            }
            if (interrupt) {
                result.interrupt = packet[7];
            }
            break;
        }
        default:
            result.dwords = 0;
    }
    return result;
}

/* Executes one AQL packet. Sets *waits if the packet is invalid or waits for signals. */
struct sim_packet_result sim_aql_packet(struct sim_view* view, u64 address, bool* waits) {
    struct sim_packet_result result = {.interrupt = SIM_INTERRUPT_NONE, .dwords = 16};
    struct {
        u16 header, reserved0;
        u32 reserved1;
        u64 depends[5], reserved2, completion;
    } packet;
    struct {
        s64 value;
        u64 mailbox;
        u32 event;
    } signal = {};
    u16 invalid = AQL_INVALID;
    unsigned int i, type, ready = 0, named = 0;

    *waits = false;
    result.error = sim_read(view, address, &packet, sizeof(packet));
    if (result.error) {
        return result;
    }
    type = packet.header & 0xff;
    if (type == AQL_INVALID) {
        *waits = true;
        return result;
    }
    if (type != AQL_BARRIER_AND && type != AQL_BARRIER_OR) {
        result.dwords = 0;
        return result;
    }
    for (i = 0; i < ARRAY_SIZE(packet.depends); i++) {
        s64 value = 0;

        if (!packet.depends[i]) {
            continue;
        }
        named++;
        result.error = sim_read(view, packet.depends[i] + 8, &value, sizeof(value));
        if (result.error) {
            return result;
        }
        ready += value == 0;
    }
    if (type == AQL_BARRIER_AND ? ready < named : named && !ready) {
        *waits = true;
        return result;
    }
    if (packet.completion) {
        result.error = sim_read(view, packet.completion + 8, &signal, 20);
        signal.value--;
        result.error = result.error ?: sim_write(view, packet.completion + 8, &signal.value, sizeof(signal.value));
        if (!result.error && signal.mailbox) {
            u64 id = signal.event;

            result.error = sim_write(view, signal.mailbox, &id, sizeof(id));
            result.interrupt = signal.event;
        }
    }
    result.error = result.error ?: sim_write(view, address, &invalid, sizeof(invalid));
    return result;
}
