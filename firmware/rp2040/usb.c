/*
 * A serial port on USB: a device of the class CDC ACM, for which operating systems have a driver.
 * Endpoint 0 takes the host's requests, endpoint 2 carries the bytes in both directions, and
 * endpoint 1, which the class requires, never reports anything. The interrupt handles received
 * bytes, including the emergency stop, and frees the buffer at once, so nothing can delay a stop.
 *
 * A host requests the bootloader by setting 1200 baud, as flashing programs commonly do.
 *
 * Erratum RP2040-E5 of chips before revision B2 has no workaround here. Behind a busy hub such a
 * board may have to be plugged in again.
 */
#include "board.h"
#include "hardware.h"
#include "link.h"
#include "string.h"

#define LOWER_THAN_STEPS 2 /* the same as the UART's, so that neither interrupts the other */
#define PACKET 64
#define CONTROL 0
#define NOTICES 1
#define DATA 2
#define NOTICES_BUFFER 0x180
#define RECEIVE_BUFFER 0x1c0
#define SEND_BUFFER 0x200
#define IN false
#define OUT true
#define MOST_SENT (PACKET - 1) /* after a full packet the host would wait for more */
#define TOUCH_BAUD 1200u

/* Requests, as type << 8 | number, with 0 for the recipient in the type. */
#define GET_STATUS 0x8000
#define CLEAR_FEATURE 0x0001
#define SET_ADDRESS 0x0005
#define GET_DESCRIPTOR 0x8006
#define GET_CONFIGURATION 0x8008
#define SET_CONFIGURATION 0x0009
#define GET_INTERFACE 0x800a
#define SET_INTERFACE 0x000b
#define SET_LINE_CODING 0x2020
#define GET_LINE_CODING 0xa021
#define SET_LINES 0x2022
#define SEND_BREAK 0x2023
#define RECIPIENT 0x1f00

#define U16(value) (uint8_t)(value), (uint8_t)((value) >> 8)
#define DEVICE_DESCRIPTOR 1
#define CONFIGURATION_DESCRIPTOR 2
#define STRING_DESCRIPTOR 3
#define VENDOR 0x2e8a  /* Raspberry Pi */
#define PRODUCT 0x000a /* ... any program for the RP2040 with such a port */

static const uint8_t device[] = {
    18,
    DEVICE_DESCRIPTOR,
    U16(0x0200),
    2,
    0,
    0,
    PACKET, /* of the communications class */
    U16(VENDOR),
    U16(PRODUCT),
    PROTOCOL_FIRMWARE_MINOR,
    PROTOCOL_FIRMWARE_MAJOR,
    1,
    2,
    0,
    1,
};

#define CONFIGURATION_BYTES 67
static const uint8_t configuration[CONFIGURATION_BYTES] = {
    9,
    CONFIGURATION_DESCRIPTOR,
    U16(CONFIGURATION_BYTES),
    2,
    1,
    0,
    0x80,
    50, /* 100 mA of the bus */
    9,
    4,
    0,
    0,
    1,
    2,
    2,
    0,
    0, /* interface 0: abstract control model */
    5,
    0x24,
    0,
    U16(0x0110),   /* header */
    5,
    0x24,
    1,
    0,
    1,          /* no calls */
    4,
    0x24,
    2,
    2,             /* has line coding and lines */
    5,
    0x24,
    6,
    0,
    1,          /* the data are those of interface 1 */
    7,
    5,
    0x80 | NOTICES,
    3,
    U16(8),
    255,
    9,
    4,
    1,
    0,
    2,
    10,
    0,
    0,
    0, /* interface 1: data */
    7,
    5,
    DATA,
    2,
    U16(PACKET),
    0,
    7,
    5,
    0x80 | DATA,
    2,
    U16(PACKET),
    0,
};

static const uint8_t languages[] = {4, STRING_DESCRIPTOR, U16(0x0409)};
static const char *const strings[] = {"Cubist", "Pico"};

static struct __attribute__((packed)) {
    uint8_t type;
    uint8_t request;
    uint16_t value;
    uint16_t index;
    uint16_t length;
} setup;

/* The part of the answer to a request that is not sent yet. */
static struct {
    const uint8_t *bytes;
    uint16_t left;
    bool ends_short; /* an empty packet ends the answer */
} answer;

static uint8_t text[PACKET];
static uint8_t line_coding[7] = {U16(500000 & 0xffff), U16(500000 >> 16), 0, 0, 8};
static uint8_t status[2];
static uint8_t configured;
static uint8_t new_address;
static bool data1[DATA + 1][2]; /* the next packet's kind, by endpoint and direction */
static volatile bool sending;

static volatile uint8_t *buffer(uint32_t offset)
{
    return (volatile uint8_t *)&REGISTER(USB_BUFFER(offset));
}

/* Gives a buffer to the controller. Its clock is slower, so the bit that hands the buffer over is
 * set last, some cycles later. */
static void give(uint8_t endpoint, bool out, uint32_t flags)
{
    uint32_t control = flags | (data1[endpoint][out] ? USB_DATA1 : 0);
    data1[endpoint][out] = !data1[endpoint][out];
    REGISTER(USB_BUFFER_CONTROL(endpoint, out)) = control;
    __asm__ volatile("nop\n\tnop\n\tnop\n\tnop\n\tnop\n\tnop\n\tnop\n\tnop\n\tnop\n\tnop");
    REGISTER(USB_BUFFER_CONTROL(endpoint, out)) = control | USB_AVAILABLE;
}

static void send(uint8_t endpoint, uint32_t offset, const uint8_t *bytes, uint8_t length)
{
    volatile uint8_t *to = buffer(offset);
    for (uint8_t i = 0; i < length; i++) {
        to[i] = bytes[i];
    }
    give(endpoint, IN, USB_FULL | length);
}

static void receive_data(void)
{
    give(DATA, OUT, PACKET);
}

static void send_answer(void)
{
    uint8_t length = answer.left < PACKET ? (uint8_t)answer.left : PACKET;
    send(CONTROL, USB_FIRST_BUFFER, answer.bytes, length);
    answer.bytes += length;
    answer.left -= length;
    answer.ends_short = answer.ends_short && length == PACKET;
}

static void reply(const void *bytes, uint16_t length)
{
    answer.bytes = bytes;
    answer.left = length < setup.length ? length : setup.length;
    answer.ends_short = answer.left < setup.length;
    send_answer();
}

static void accept(void)
{
    answer.left = 0;
    answer.ends_short = false;
    send(CONTROL, USB_FIRST_BUFFER, 0, 0);
}

static void refuse(void)
{
    REGISTER(USB_STALL_ARM) = USB_EP0_BOTH;
    REGISTER(USB_BUFFER_CONTROL(CONTROL, IN)) = USB_STALL;
    REGISTER(USB_BUFFER_CONTROL(CONTROL, OUT)) = USB_STALL;
}

static void reply_string(uint8_t number)
{
    if (number == 0) {
        reply(languages, sizeof languages);
        return;
    }
    if (number > sizeof strings / sizeof strings[0]) {
        refuse();
        return;
    }
    uint8_t length = 2;
    for (const char *letter = strings[number - 1]; *letter; letter++) {
        text[length++] = (uint8_t)*letter;
        text[length++] = 0;
    }
    text[0] = length;
    text[1] = STRING_DESCRIPTOR;
    reply(text, length);
}

static void reply_descriptor(void)
{
    switch (setup.value >> 8) {
    case DEVICE_DESCRIPTOR:
        reply(device, sizeof device);
        break;
    case CONFIGURATION_DESCRIPTOR:
        reply(configuration, sizeof configuration);
        break;
    case STRING_DESCRIPTOR:
        reply_string((uint8_t)setup.value);
        break;
    default:
        refuse();
    }
}

static void open_endpoint(uint8_t number, bool out, uint32_t kind, uint32_t offset)
{
    data1[number][out] = false;
    REGISTER(USB_ENDPOINT(number, out)) = USB_ENDPOINT_ENABLE | kind | offset;
}

static void configure(void)
{
    configured = (uint8_t)setup.value;
    sending = false;
    if (configured) {
        open_endpoint(NOTICES, IN, USB_INTERRUPT, NOTICES_BUFFER);
        open_endpoint(DATA, IN, USB_BULK, SEND_BUFFER);
        open_endpoint(DATA, OUT, USB_BULK, RECEIVE_BUFFER);
        receive_data();
    }
}

/* Counts the packets of an endpoint from the beginning again, as the host does. */
static void restart_endpoint(void)
{
    if ((setup.index & 0x7f) != DATA || !configured) {
        return;
    }
    bool out = !(setup.index & 0x80);
    data1[DATA][out] = false;
    if (out) {
        receive_data();
    } else {
        sending = false;
    }
}

static void serve_request(void)
{
    switch (((uint16_t)setup.type << 8 | setup.request) & ~RECIPIENT) {
    case GET_STATUS:
        reply(status, sizeof status);
        break;
    case GET_DESCRIPTOR:
        reply_descriptor();
        break;
    case GET_CONFIGURATION:
        reply(&configured, sizeof configured);
        break;
    case GET_INTERFACE:
        reply(status, 1);
        break;
    case GET_LINE_CODING:
        reply(line_coding, sizeof line_coding);
        break;
    case SET_ADDRESS:
        new_address = (uint8_t)setup.value;
        accept();
        break;
    case SET_CONFIGURATION:
        configure();
        accept();
        break;
    case CLEAR_FEATURE:
        restart_endpoint();
        accept();
        break;
    case SET_LINE_CODING:
        give(CONTROL, OUT, PACKET); /* accepted once the packet has arrived */
        break;
    case SET_INTERFACE:
    case SET_LINES:
    case SEND_BREAK:
        accept();
        break;
    default:
        refuse();
    }
}

static void take_setup(void)
{
    REGISTER(USB_SIE_STATUS) = USB_SETUP_CAME;
    uint32_t words[2] = {REGISTER(USB_SETUP), REGISTER(USB_SETUP + 4)};
    memcpy(&setup, words, sizeof setup);
    data1[CONTROL][IN] = data1[CONTROL][OUT] = true;
    REGISTER(USB_BUFFER_CONTROL(CONTROL, IN)) = 0; /* drops the rest of an abandoned answer */
    REGISTER(USB_BUFFER_CONTROL(CONTROL, OUT)) = 0;
    new_address = 0;
    serve_request();
}

static void control_sent(void)
{
    if (new_address) {
        REGISTER(USB_ADDRESS) = new_address;
        new_address = 0;
    }
    if (answer.left || answer.ends_short) {
        send_answer();
    } else if (setup.type & 0x80) {
        data1[CONTROL][OUT] = true;
        give(CONTROL, OUT, 0); /* the host confirms with an empty packet */
    }
}

static void control_received(void)
{
    uint32_t length = REGISTER(USB_BUFFER_CONTROL(CONTROL, OUT)) & USB_LENGTH;
    if (setup.request != (uint8_t)SET_LINE_CODING || length != sizeof line_coding) {
        return;
    }
    for (uint8_t i = 0; i < sizeof line_coding; i++) {
        line_coding[i] = buffer(USB_FIRST_BUFFER)[i];
    }
    accept();
    uint32_t baud;
    memcpy(&baud, line_coding, sizeof baud);
    if (baud == TOUCH_BAUD) {
        ports_ask_for_bootloader();
    }
}

static void data_received(void)
{
    uint32_t length = REGISTER(USB_BUFFER_CONTROL(DATA, OUT)) & USB_LENGTH;
    for (uint32_t i = 0; i < length; i++) {
        port_receive(PORT_USB, buffer(RECEIVE_BUFFER)[i]);
    }
    receive_data();
}

static uint32_t bit_of(uint8_t endpoint, bool out)
{
    return 1u << (2 * endpoint + out);
}

static void serve_buffers(void)
{
    uint32_t done = REGISTER(USB_BUFFER_STATUS);
    REGISTER(USB_BUFFER_STATUS) = done;
    if (done & bit_of(CONTROL, IN)) {
        control_sent();
    }
    if (done & bit_of(CONTROL, OUT)) {
        control_received();
    }
    if (done & bit_of(DATA, IN)) {
        sending = false;
    }
    if (done & bit_of(DATA, OUT)) {
        data_received();
    }
}

static void begin_again(void)
{
    REGISTER(USB_SIE_STATUS) = USB_WAS_RESET;
    REGISTER(USB_ADDRESS) = 0;
    new_address = 0;
    configured = 0;
    sending = false;
}

void usb_interrupt(void)
{
    uint32_t events = REGISTER(USB_INTS);
    if (events & USB_ON_RESET) {
        begin_again();
    }
    if (events & USB_ON_BUFFER) {
        serve_buffers();
    }
    if (events & USB_ON_SETUP) {
        take_setup();
    }
    ports_wake();
}

void usb_start(void)
{
    chip_start(RESETS_USB);
    for (uint32_t offset = 0; offset < USB_FIRST_BUFFER; offset += 4) {
        REGISTER(USB_BUFFER(offset)) = 0;
    }
    REGISTER(USB_MUXING) = USB_TO_PHY;
    REGISTER(USB_POWER) = USB_VBUS_IS_THERE;
    REGISTER(USB_MAIN_CTRL) = USB_DEVICE;
    REGISTER(USB_INTE) = USB_ON_SETUP | USB_ON_RESET | USB_ON_BUFFER;
    interrupt_enable(USB_IRQ, LOWER_THAN_STEPS);
    REGISTER(USB_SIE_CTRL) = USB_EP0_EVENTS | USB_PULL_UP;
}

void usb_poll(void)
{
    static uint8_t bytes[MOST_SENT];
    uint8_t length = 0;
    if (!configured || sending) {
        return;
    }
    while (length < MOST_SENT && link_transmit(&bytes[length])) {
        length++;
    }
    if (length) {
        sending = true;
        send(DATA, SEND_BUFFER, bytes, length);
    }
}
