// A photo, read in the browser: scaled and cut to the model's size, then cut into patches.

/** A file that is no photo, or whose pixels the browser hides from the page. */
export class UnreadableImage extends Error {}

/**
 * How a model cuts images.
 * @typedef {{height: number, width: number, channels: number, patch: number, rows: number, columns: number,
 *   sketch: boolean}} Layout
 */

/** The row and column of a patch by its name, counted from 0: r2c3 is [1, 2]. */
export const placeOf = (name) => name.slice(1).split("c").map((text) => Number(text) - 1);

/** A canvas of this size, made for reading from. */
function canvasOf(width, height) {
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  return { canvas, pen: canvas.getContext("2d", { willReadFrequently: true }) };
}

export class Photo {
  /**
   * @param {string} name
   * @param {HTMLCanvasElement} canvas at the size of the layout
   * @param {Layout} layout
   * @param {number} outside the share of the file's picture that was cut off
   */
  constructor(name, canvas, layout, outside) {
    this.name = name;
    this.canvas = canvas;
    this.layout = layout;
    this.outside = outside;
  }

  /** A patch as the data URL of a PNG, which is lossless. */
  patch(name) {
    const { patch } = this.layout;
    const [row, column] = placeOf(name);
    const { canvas, pen } = canvasOf(patch, patch);
    pen.drawImage(this.canvas, column * patch, row * patch, patch, patch, 0, 0, patch, patch);
    return canvas.toDataURL("image/png");
  }

  /** Whether every patch that was looked at is from this photo. */
  hasPatches(said) {
    return said.every(({ name, values }) => values === null || this.patch(name) === values[name]);
  }

  /** The whole photo at the model's size, as a data URL. */
  whole() {
    return this.canvas.toDataURL("image/png");
  }
}

/** A picture in a data URL as a file. */
export function dataUrlFile(url, name) {
  const bytes = Uint8Array.from(atob(url.slice(url.indexOf(",") + 1)), (c) => c.charCodeAt(0));
  return new File([bytes], name);
}

/** Read a file as a photo for a layout. */
export async function readPhoto(file, layout) {
  const { height, width, channels } = layout;
  const picture = await openPicture(file);
  const scale = covering(picture, height, width);
  const outside = 1 - (width * height) / (picture.width * picture.height * scale ** 2);
  return new Photo(file.name, cut(picture, [height, width, channels]), layout, outside);
}

/**
 * A file as a canvas: scaled so that it covers a shape (height, width, channels), and cut around the middle.
 * @returns {Promise<HTMLCanvasElement>}
 */
export async function readPicture(file, shape) {
  return cut(await openPicture(file), shape);
}

async function openPicture(file) {
  try {
    return await createImageBitmap(file);
  } catch {
    throw new UnreadableImage(`${file.name} can't be read as a picture; give a JPEG, PNG or WebP`);
  }
}

/** By how much a picture is scaled to cover a size. */
const covering = (picture, height, width) => Math.max(width / picture.width, height / picture.height);

function cut(picture, [height, width, channels]) {
  const { canvas, pen } = canvasOf(width, height);
  const scale = covering(picture, height, width);
  const [wide, high] = [picture.width * scale, picture.height * scale];
  // Transparent parts become white.
  pen.fillStyle = "#fff";
  pen.fillRect(0, 0, width, height);
  pen.imageSmoothingQuality = "high";
  pen.drawImage(picture, (width - wide) / 2, (height - high) / 2, wide, high);
  picture.close();
  if (!givesPixels()) {
    throw new UnreadableImage(
      "this browser hides the pixels of pictures from pages; allow it here, or use another one",
    );
  }
  if (channels === 1) makeGrey(pen, width, height);
  return canvas;
}

/** Some browsers blur what a page reads from a canvas, against tracking; a model would be asked about noise. */
function givesPixels() {
  const { pen } = canvasOf(4, 4);
  pen.fillStyle = "#1e5a96";
  pen.fillRect(0, 0, 4, 4);
  const read = pen.getImageData(0, 0, 4, 4).data;
  return read.every((value, i) => value === [0x1e, 0x5a, 0x96, 0xff][i % 4]);
}

function makeGrey(pen, width, height) {
  const pixels = pen.getImageData(0, 0, width, height);
  const { data } = pixels;
  for (let i = 0; i < data.length; i += 4) {
    // The weights with which the server turns colours into grey.
    const grey = (19595 * data[i] + 38470 * data[i + 1] + 7471 * data[i + 2] + 32768) >> 16;
    data.fill(grey, i, i + 3);
  }
  pen.putImageData(pixels, 0, 0);
}
