// Runs an RP2040's UF2 image in rp2040js, in time that machine.c grants:
//   node emulator.mjs LIBRARY IMAGE FD NANOSECONDS uart|usb
// Both sides write records of 12 bytes to the socket FD: time u64 | pin u16 | level u8 | kind u8. Ticks are half
// microseconds, of NANOSECONDS in records of pins: there since the chip's reset, since the start of the process in all
// others.
//   from machine.c   GRANT: run up to this tick   RECEIVE: `level` arrives at the serial port
//                    LINE: a program sets `time` baud at the port, which a UART does not notice
//                    RESET: the reset button   HANG: the program hangs at address `time`   READ: the answer to one
//   to machine.c     LEVEL: an output is now `level`   READ: what is the level of an input?
//                    RESET: the chip was reset   SENT: the port has sent `level`   GRANT: done
//   both ways        DRIVER: a byte `level` to the stepper drivers, or from them
//                    ANSWER: what do the drivers answer? Back comes the same record behind their bytes
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const [library, image, descriptor, nanosPerStamp, portKind] = process.argv.slice(2);
const { ConsoleLogger, GPIOPinState, LogLevel, RP2040 } = createRequire(path.resolve(library, 'package.json'))('rp2040js');
const socket = Number(descriptor);

const LEVEL = 0, RESET = 2, READ = 3, GRANT = 5, HANG = 6, DRIVER = 9, ANSWER = 10, RECEIVE = 16, SENT = 17, LINE = 18;
const RECORD_BYTES = 12;
const NANOS_PER_TICK = 500;
const CRYSTAL_HZ = 12e6;
const BAUD = 500_000;
const BYTE_NANOS = 10 * 1e9 / BAUD;
const UART_FIFO_BYTES = 32;

// ---- the socket: everything waits, because no time passes by itself
const outgoing = Buffer.alloc(RECORD_BYTES * 4096);
let outgoingBytes = 0;

function flush() {
  for (let sent = 0; sent < outgoingBytes;) sent += fs.writeSync(socket, outgoing, sent, outgoingBytes - sent);
  outgoingBytes = 0;
}

function send(kind, time, pin = 0xffff, level = 0) {
  outgoing.writeBigUInt64LE(BigInt(time), outgoingBytes);
  outgoing.writeUInt16LE(pin, outgoingBytes + 8);
  outgoing.writeUInt8(level, outgoingBytes + 10);
  outgoing.writeUInt8(kind, outgoingBytes + 11);
  outgoingBytes += RECORD_BYTES;
  if (outgoingBytes === outgoing.length) flush();
}

function receive() {
  const record = Buffer.alloc(RECORD_BYTES);
  for (let got = 0; got < RECORD_BYTES;) {
    const more = fs.readSync(socket, record, got, RECORD_BYTES - got, null);
    if (!more) process.exit(0);
    got += more;
  }
  return { time: Number(record.readBigUInt64LE(0)), level: record.readUInt8(10), kind: record.readUInt8(11) };
}

// ---- what the chip's ROM does before the program runs
function flashContents(file) {
  const flash = [];
  for (let at = 0; at < file.length; at += 512) {
    const words = [0, 4, 8, 12, 16, 28, 508].map((offset) => file.readUInt32LE(at + offset));
    const [magic, second, flags, address, bytes, family, last] = words;
    if (magic !== 0x0a324655 || second !== 0x9e5d5157 || last !== 0x0ab16f30 || bytes !== 256)
      throw new Error(`block ${at / 512} of the image is damaged`);
    if (!(flags & 0x2000) || family !== 0xe48bff56) continue; // of another chip
    flash.push([address - 0x10000000, file.subarray(at + 32, at + 32 + bytes)]);
  }
  return flash;
}

function checksum(bytes) {
  let sum = 0xffffffff;
  for (const byte of bytes) {
    sum ^= byte << 24;
    for (let bit = 0; bit < 8; bit++) sum = sum & 0x80000000 ? (sum << 1) ^ 0x04c11db7 : sum << 1;
  }
  return sum >>> 0;
}

const flash = flashContents(fs.readFileSync(image));
const BOOT_STAGE = 0x20041f00;

function boot(chip) {
  for (const [place, bytes] of flash) chip.flash.set(bytes, place);
  const stage = chip.flash.slice(0, 256);
  if (checksum(stage.subarray(0, 252)) !== new DataView(stage.buffer).getUint32(252, true))
    throw new Error('the checksum of the boot stage is wrong: the chip would stay in its bootloader');
  chip.sram.set(stage, BOOT_STAGE - 0x20000000);
  chip.core.SP = BOOT_STAGE;
  chip.core.PC = BOOT_STAGE;
}

// ---- what rp2040js leaves out or does by halves
/** The timer counts the watchdog's ticks, whatever their length, and alarms ring on them exactly. */
function countTicks(chip) {
  const timer = chip.peripherals[0x40054], watchdog = chip.peripherals[0x40058];
  const { clock } = chip;
  let nanosPerTick = 1000;
  timer.clock = { get nanos() { return clock.nanos / nanosPerTick * 1000; } };
  timer.alarms.forEach((alarm, index) => {
    const real = clock.createAlarm(() => timer.fireAlarm(index));
    alarm.clockAlarm = {
      cancel: () => real.cancel(),
      schedule(nanos) {
        const ticks = Math.ceil(clock.nanos / nanosPerTick + nanos / 1000 - 1e-6);
        real.schedule(ticks * nanosPerTick - clock.nanos);
      },
    };
  });
  const write = watchdog.writeUint32.bind(watchdog);
  watchdog.writeUint32 = (offset, value) => {
    write(offset, value);
    if (offset !== 0x2c) return;
    nanosPerTick = (value & 0x1ff) * 1e9 / CRYSTAL_HZ;
    watchdog.timer.frequency = 2e9 / nanosPerTick; // erratum RP2040-E1: it counts two for each
  };
}

/** Bytes take their time on the line, and the transmitter's FIFO can be full. */
function timeBytes(chip, onSent) {
  const uart = chip.uart[0];
  const sending = [];
  const arriving = [];
  const arrival = chip.clock.createAlarm(() => {
    uart.feedByte(atRightSpeed(arriving.shift()));
    if (arriving.length) arrival.schedule(BYTE_NANOS);
  });
  const departure = chip.clock.createAlarm(() => {
    onSent(atRightSpeed(sending.shift()));
    if (sending.length) departure.schedule(BYTE_NANOS);
    uart.checkInterrupts();
  });
  const atRightSpeed = (byte) => Math.abs(uart.baudRate / BAUD - 1) < 0.02 ? byte : byte ^ 0xaa;
  uart.onByte = (byte) => {
    sending.push(byte);
    if (sending.length === 1) departure.schedule(BYTE_NANOS);
    uart.checkInterrupts();
  };
  uart.checkInterrupts = () => {
    uart.interruptStatus = sending.length <= UART_FIFO_BYTES / 2 ? uart.interruptStatus | 0x20 : uart.interruptStatus & ~0x20;
    chip.setInterrupt(uart.irq, !!(uart.interruptStatus & uart.interruptMask));
  };
  Object.defineProperty(uart, 'flags', { get: () =>
    (uart.rxFIFO.full ? 0x40 : 0) | (uart.rxFIFO.empty ? 0x10 : 0) |
    (sending.length >= UART_FIFO_BYTES ? 0x20 : 0) | (sending.length ? 0 : 0x80) });
  return (byte) => {
    arriving.push(byte);
    if (arriving.length === 1) arrival.schedule(BYTE_NANOS);
  };
}

/** The stepper drivers at UART 1: one wire, so what is sent comes back, and behind it their answer. */
function connectDrivers(chip, answerOf) {
  const uart = chip.uart[1];
  const DATAGRAM_BYTES = { read: 4, write: 8 };
  const ANSWER_DELAY_BITS = 24;
  const datagram = [];
  const arriving = [];
  const bitNanos = () => 1e9 / uart.baudRate;
  const arrival = chip.clock.createAlarm(() => {
    uart.feedByte(arriving.shift());
    if (arriving.length) arrival.schedule(10 * bitNanos());
  });
  const answering = chip.clock.createAlarm(() => {
    const idle = !arriving.length;
    arriving.push(...answerOf(datagram.splice(0)));
    if (idle && arriving.length) arrival.schedule(10 * bitNanos());
  });
  uart.onByte = (byte) => {
    datagram.push(byte);
    arriving.push(byte);
    if (arriving.length === 1) arrival.schedule(10 * bitNanos());
    const isWrite = datagram[2] & 0x80;
    if (isWrite && datagram.length === DATAGRAM_BYTES.write) answerOf(datagram.splice(0));
    if (!isWrite && datagram.length === DATAGRAM_BYTES.read)
      answering.schedule((10 * DATAGRAM_BYTES.read + ANSWER_DELAY_BITS) * bitNanos());
  };
}

/** A host at the USB port: it enumerates the device as Linux does, and then opens its serial port. */
class UsbHost {
  static ADDRESS = 7;
  static PACKET = 64;
  static PACKET_MICROS = 50; // on the wire
  static BYTES = 2; // number of the endpoint

  constructor(chip, onSent) {
    this.usb = chip.usbCtrl;
    this.onSent = onSent;
    this.transfers = [];
    this.bytes = [];
    this.usb.onUSBEnabled = () => this.usb.resetDevice();
    this.usb.onResetReceived = () => this.enumerate();
    this.usb.onEndpointWrite = (endpoint, packet) => {
      if (endpoint === UsbHost.BYTES) packet.forEach(onSent);
      else if (endpoint === 0) this.take(packet);
    };
    this.usb.onEndpointRead = (endpoint) => {
      if (endpoint === UsbHost.BYTES) {
        this.isWaited = true;
        this.carry.schedule(1000);
      } else if (endpoint === 0) {
        this.isControlWaited = true;
        this.confirm();
      }
    };
    this.carry = chip.clock.createAlarm(() => {
      if (!this.isWaited || !this.bytes.length || !this.isOpen) return;
      this.isWaited = false;
      this.usb.endpointReadDone(UsbHost.BYTES, Uint8Array.from(this.bytes.splice(0, UsbHost.PACKET)), UsbHost.PACKET_MICROS);
    });
  }

  enumerate() {
    const address = UsbHost.ADDRESS;
    this.isOpen = false;
    this.transfers = [];
    this.request(0x80, 6, 0x0100, 0, 64);
    this.request(0x00, 5, address, 0, 0);
    this.request(0x80, 6, 0x0200, 0, 9);
    this.request(0x80, 6, 0x0200, 0, 255);
    for (const text of [0, 1, 2]) this.request(0x80, 6, 0x0300 | text, 0x0409, 255);
    this.request(0x00, 9, 1, 0, 0);
    this.setBaud(BAUD);
    this.request(0x21, 0x22, 3, 0, 0, () => {
      if ((this.usb.readUint32(0) & 0x7f) !== address) throw new Error('the device has not taken its address');
      this.isOpen = true;
      this.carry.schedule(1000);
    });
  }

  setBaud(baud) {
    const coding = new Uint8Array(7);
    new DataView(coding.buffer).setUint32(0, baud, true);
    coding[6] = 8;
    this.request(0x21, 0x20, 0, 0, 7, undefined, coding);
  }

  request(type, number, value, index, length, onDone, data) {
    const setup = new Uint8Array(8);
    setup.set([type, number]);
    [value, index, length].forEach((word, at) => new DataView(setup.buffer).setUint16(2 + 2 * at, word, true));
    this.transfers.push({ setup, length, onDone, data, got: 0 });
    if (this.transfers.length === 1) this.begin();
  }

  begin() {
    this.isControlWaited = false;
    this.usb.sendSetupPacket(this.transfers[0].setup);
  }

  /** A packet of endpoint 0: part of an answer, or the empty one that ends a request without one. */
  take(packet) {
    const transfer = this.transfers[0];
    if (!transfer) return;
    transfer.got += packet.length;
    const isAnswer = transfer.setup[0] & 0x80;
    if (!isAnswer) this.next();
    else if (transfer.got >= transfer.length || packet.length < UsbHost.PACKET) transfer.isWhole = true;
    this.confirm();
  }

  /** The data of a request, or the empty packet after an answer, once the device takes packets. */
  confirm() {
    const transfer = this.transfers[0];
    if (!this.isControlWaited || !transfer || !(transfer.data || transfer.isWhole)) return;
    this.isControlWaited = false;
    this.usb.endpointReadDone(0, transfer.data ?? new Uint8Array());
    if (transfer.isWhole) this.next();
  }

  next() {
    this.transfers.shift().onDone?.();
    if (this.transfers.length) this.begin();
  }

  arrives(byte) {
    this.bytes.push(byte);
    this.carry.schedule(1000);
  }
}

const JMP = 0, JMP_X_DEC = 0x0040, MOV_X = 0xa020, MOV_DESTINATION = 0xffe0;
const MOST_AT_ONCE = 32; // instructions
const JOIN_TX = 1 << 30;
const QUEUE_WORDS = 4;

/**
 * The PIO runs with the chip's clock. Only instructions that others see the effect of have a moment of their own: they
 * set pins or take a word. Moves and counting loops of X before them are done at once and take their cycles, and a machine
 * that waits for a word takes no time here.
 */
function runPio(chip) {
  for (const pio of chip.pio) {
    pio.run = () => {};
    const wake = pio.machines.map((machine) => {
      const period = () => (machine.clockDivInt + machine.clockDivFrac / 256) * 1e9 / chip.clkSys;
      const isUnseen = (instruction) => instruction >>> 13 === JMP || (instruction & MOV_DESTINATION) === MOV_X;
      const alarm = chip.clock.createAlarm(() => {
        alarm.scheduled = false;
        if (!machine.enabled) return;
        machine.step();
        pio.checkChangedPins();
        if (!machine.waiting) proceed();
      });
      function proceed() {
        let cycles = 1;
        for (let done = 0; done < MOST_AT_ONCE; done++, cycles++) {
          const instruction = pio.instructions[machine.pc];
          if (!isUnseen(instruction)) break;
          if (instruction === (JMP_X_DEC | machine.pc)) {
            cycles += machine.x;
            machine.x = 0;
          }
          machine.step();
        }
        alarm.schedule(cycles * period());
      }
      return () => {
        if (!machine.enabled && alarm.scheduled) alarm.cancel();
        if (machine.enabled && !machine.waiting && !alarm.scheduled) proceed();
      };
    });
    const write = pio.writeUint32.bind(pio);
    pio.writeUint32 = (offset, value) => {
      const { machines } = pio;
      const joined = machines.map((machine) => machine.shiftCtrl & JOIN_TX);
      write(offset, value);
      machines.forEach((machine, index) => {
        if ((machine.shiftCtrl & JOIN_TX) !== joined[index])
          machine.txFIFO = new machine.txFIFO.constructor(joined[index] ? QUEUE_WORDS : 2 * QUEUE_WORDS);
      });
      pio.checkChangedPins();
      wake.forEach((one) => one());
    };
  }
}

/** The robot drives the inputs: it is asked when the program looks at one. */
function askForInputs(chip, ask) {
  const io = chip.peripherals[0x40014];
  const read = io.readUint32.bind(io);
  io.readUint32 = (offset) => {
    const pin = chip.gpio[offset >>> 3];
    if (pin && offset % 8 === 0 && pin.pullupEnabled && !pin.outputEnable) pin.setInputValue(ask(pin.index));
    return read(offset);
  };
}

/** Registers of which rp2040js has none: random bits of the ring oscillator, and what reset the chip. */
function addRegisters(chip, cause, seed) {
  let state = seed * 2654435761 % 2 ** 32 || 1;
  chip.peripherals[0x40060].readUint32 = () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 8 & 1;
  };
  chip.peripherals[0x40064].readUint32 = () => cause.chip;
  chip.peripherals[0x40058].reason = cause.watchdog;
}

/** The ROM's function that restarts the chip into its USB bootloader, which ends the program here. */
function addRom(chip, onBootloader) {
  const LOOK_UP = 0x80, RESTART = 0x90;
  chip.bootrom[0x18 / 4] = LOOK_UP | 1;
  chip.bootrom[LOOK_UP / 4] = 0x4770_2000 | RESTART | 1; // movs r0, #RESTART; bx lr
  chip.bootrom[RESTART / 4] = 0xbe00; // bkpt
  chip.onBreak = onBootloader;
}

// ---- one chip after the other: a reset makes a new one
const POWERED = { chip: 1 << 8, watchdog: 0 };
const BUTTON = { chip: 1 << 16, watchdog: 0 };
const WATCHDOG = 1;
const BRANCH_TO_ITSELF = 0xe7fe;

let chip;
let host; // at USB
let nextCause;
let arrives;
let resets = 0;
let isInBootloader = false;
let startedAt = 0; // nanoseconds since the start of the process

const sinceReset = () => Math.floor(chip.clock.nanos / nanosPerStamp + 1e-6);
const sinceStart = () => startedAt + chip.clock.nanos;

function ask(pin) {
  send(READ, sinceReset(), pin);
  flush();
  for (;;) {
    const answer = receive();
    if (answer.kind === READ) return !!answer.level;
  }
}

function askDrivers(datagram) {
  for (const byte of datagram) send(DRIVER, sinceReset(), 0xffff, byte);
  send(ANSWER, sinceReset());
  flush();
  const bytes = [];
  for (let answer; (answer = receive()).kind !== ANSWER;) if (answer.kind === DRIVER) bytes.push(answer.level);
  return bytes;
}

function start(cause) {
  if (chip) startedAt = sinceStart();
  chip = new RP2040();
  chip.logger = new ConsoleLogger(LogLevel.Error);
  nextCause = undefined;
  isInBootloader = false;
  addRegisters(chip, cause, ++resets);
  addRom(chip, () => { isInBootloader = true; });
  countTicks(chip);
  runPio(chip);
  askForInputs(chip, ask);
  const onSent = (byte) => send(SENT, 0, 0, byte);
  host = portKind === 'usb' ? new UsbHost(chip, onSent) : undefined;
  arrives = host ? (byte) => host.arrives(byte) : timeBytes(chip, onSent);
  connectDrivers(chip, askDrivers);
  const watchdog = chip.peripherals[0x40058];
  watchdog.onWatchdogTrigger = () => {
    watchdog.alarm.enable = false; // else it would ring again and again in the same moment
    nextCause = { chip: cause.chip, watchdog: WATCHDOG };
  };
  for (const pin of chip.gpio) {
    pin.addListener((now, before) => {
      const high = now === GPIOPinState.High;
      if (high !== (before === GPIOPinState.High)) send(LEVEL, sinceReset(), pin.index, Number(high));
    });
  }
  boot(chip);
  send(RESET, Math.floor(startedAt / NANOS_PER_TICK));
}

function run(untilTick) {
  const until = untilTick * NANOS_PER_TICK;
  while (sinceStart() < until) {
    const { core, clock } = chip;
    const end = until - startedAt;
    let nanosPerCycle = 1e9 / chip.clkSys;
    const forget = chip.addClockListener((hertz) => { nanosPerCycle = 1e9 / hertz; });
    while (clock.nanosCounter < end && !nextCause && !isInBootloader) {
      if (core.waiting) {
        const next = clock.nextAlarm ? Math.min(clock.nextAlarm.nanos, end) : end;
        clock.tick(next - clock.nanosCounter);
      } else {
        clock.tick(core.executeInstruction() * nanosPerCycle);
      }
    }
    forget();
    if (isInBootloader) startedAt = until - clock.nanosCounter;
    if (nextCause) start(nextCause);
  }
}

start(POWERED);
flush();
for (;;) {
  const order = receive();
  if (order.kind === GRANT) {
    run(order.time);
    send(GRANT, Math.floor(sinceStart() / NANOS_PER_TICK));
    flush();
  } else if (order.kind === RECEIVE) {
    arrives(order.level);
  } else if (order.kind === LINE) {
    host?.setBaud(order.time);
  } else if (order.kind === RESET) {
    start(BUTTON);
  } else if (order.kind === HANG) {
    chip.writeUint16(order.time, BRANCH_TO_ITSELF);
  }
}
